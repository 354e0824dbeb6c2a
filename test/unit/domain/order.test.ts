import {
  type ChangeRequest,
  type OrderHistory,
  createHistory,
  decide,
  isStatusChange,
  classifyEvent,
  stateAfter,
  sequenceOf,
  toWorkflowOrderHistory,
  withState,
} from '../../../src/domain/order';
import { ORDER_STATUSES } from '../../../src/domain/status';
import { CREATED_AT, IN_STATUS, ORDER, historyAfter, atMinute, request } from '../../support/order-histories';

/** Applies a request that must change the order. */
function change(history: OrderHistory, changeRequest: ChangeRequest, now: string): OrderHistory {
  const decision = decide(history, changeRequest, now);
  if (decision.kind !== 'change') throw new Error(`expected a change, not ${decision.kind}`);
  return decision.next;
}

describe('a new order', () => {
  test('has one change, which names its creator, its channel and its time', () => {
    expect(createHistory(ORDER, { actor: 'seller', channel: 'api' })).toEqual({
      order: ORDER,
      changes: [
        {
          version: 1,
          event: 'created',
          from: null,
          to: 'CREATED',
          actor: 'seller',
          channel: 'api',
          reason: null,
          at: CREATED_AT,
        },
      ],
    });
  });
});

describe('a change', () => {
  test('sets the status, adds one version and one entry, and changes nothing else', () => {
    const before = IN_STATUS.PENDING;
    const next = change(
      before,
      request('approved', { actor: 'checkout', channel: 'workflow', reason: 'score 720' }),
      atMinute(9),
    );
    expect(next.order).toEqual({ ...before.order, status: 'APPROVED', version: 3, updatedAt: atMinute(9) });
    expect(next.changes).toEqual([
      ...before.changes,
      {
        version: 3,
        event: 'approved',
        from: 'PENDING',
        to: 'APPROVED',
        actor: 'checkout',
        channel: 'workflow',
        reason: 'score 720',
        at: atMinute(9),
      },
    ]);
  });

  test('does not modify the history that it is applied to', () => {
    const before = historyAfter('signup_started');
    const copy = structuredClone(before);
    decide(before, request('cancel'), atMinute(5));
    expect(before).toEqual(copy);
  });

  test('increases the version by one', () => {
    expect(IN_STATUS.SUCCESSFUL.changes.map(({ version }) => version)).toEqual([1, 2, 3, 4]);
    expect(IN_STATUS.SUCCESSFUL.order.version).toBe(4);
  });

  test('has the time of the change before it if the clock is behind', () => {
    const before = historyAfter('signup_started', 'approved');
    const next = change(before, request('cancel'), atMinute(-60));
    expect(next.changes.at(-1)?.at).toBe(atMinute(2));
    expect(next.order.cancelledAt).toBe(atMinute(2));
  });

  test('has the time of the creation if the clock is behind the creation', () => {
    expect(change(historyAfter(), request('failed'), atMinute(-1)).changes.at(-1)?.at).toBe(CREATED_AT);
  });
});

describe('an event that is in the history already', () => {
  test.each([
    ['signup_started', historyAfter('signup_started')],
    ['signup_started', IN_STATUS.SUCCESSFUL],
    ['approved', IN_STATUS.SUCCESSFUL],
    ['completed', IN_STATUS.SUCCESSFUL],
    ['declined', historyAfter('signup_started', 'declined')],
    ['failed', historyAfter('failed')],
    ['expired', historyAfter('expired')],
    ['cancel', historyAfter('cancel')],
    ['signup_started', historyAfter('signup_started', 'cancel')],
  ] as const)('is a repeat that changes nothing: %s', (event, history) => {
    expect(classifyEvent(history, event)).toBe('repeat');
    expect(decide(history, request(event), atMinute(90))).toEqual({ kind: 'repeat' });
  });
});

describe('an event without a transition', () => {
  test.each([
    ['approved', IN_STATUS.CREATED],
    ['completed', IN_STATUS.PENDING],
    ['declined', IN_STATUS.APPROVED],
    ['failed', IN_STATUS.SUCCESSFUL],
    ['expired', IN_STATUS.SUCCESSFUL],
    ['cancel', IN_STATUS.SUCCESSFUL],
    ['failed', IN_STATUS.UNSUCCESSFUL],
    ['completed', historyAfter('signup_started', 'approved', 'cancel')],
  ] as const)('is refused: %s', (event, history) => {
    expect(classifyEvent(history, event)).toBe('refused');
    expect(decide(history, request(event), atMinute(90))).toEqual({ kind: 'refused' });
  });
});

describe('a cancel', () => {
  test.each(['CREATED', 'PENDING', 'APPROVED'] as const)(
    'makes a %s order UNSUCCESSFUL and sets cancelledAt',
    (status) => {
      const { order } = change(IN_STATUS[status], request('cancel'), atMinute(30));
      expect(order).toMatchObject({ status: 'UNSUCCESSFUL', cancelledAt: atMinute(30) });
    },
  );

  test('sets cancelledAt of an UNSUCCESSFUL order and keeps its status', () => {
    const next = change(IN_STATUS.UNSUCCESSFUL, request('cancel'), atMinute(30));
    expect(next.order).toMatchObject({ status: 'UNSUCCESSFUL', cancelledAt: atMinute(30), version: 4 });
    expect(next.changes.at(-1)).toMatchObject({ event: 'cancel', from: 'UNSUCCESSFUL', to: 'UNSUCCESSFUL' });
  });

  test('keeps the first cancelledAt if it is repeated', () => {
    const cancelled = historyAfter('cancel');
    expect(decide(cancelled, request('cancel'), atMinute(30)).kind).toBe('repeat');
    expect(cancelled.order.cancelledAt).toBe(atMinute(1));
  });

  test('is refused for a SUCCESSFUL order', () => {
    expect(decide(IN_STATUS.SUCCESSFUL, request('cancel'), atMinute(30)).kind).toBe('refused');
  });
});

test('no event except cancel sets cancelledAt', () => {
  for (const status of ORDER_STATUSES) expect(IN_STATUS[status].order.cancelledAt).toBeNull();
  expect(historyAfter('failed').order.cancelledAt).toBeNull();
  expect(historyAfter('expired').order.cancelledAt).toBeNull();
});

describe('a change that sellers get a webhook for', () => {
  const declinedThenCancelled = historyAfter('signup_started', 'declined', 'cancel');

  test('is a change to another status, but not the creation or the cancel of an UNSUCCESSFUL order', () => {
    expect(declinedThenCancelled.changes.map(isStatusChange)).toEqual([false, true, true, false]);
  });

  test('has a sequence number that starts at 1 and has no gaps', () => {
    const { changes } = IN_STATUS.SUCCESSFUL;
    expect(changes.slice(1).map((change) => sequenceOf(changes, change))).toEqual([1, 2, 3]);
  });

  test('keeps its sequence number after later changes', () => {
    const { changes } = declinedThenCancelled;
    expect(sequenceOf(changes, changes[1]!)).toBe(1);
    expect(sequenceOf(changes, changes[2]!)).toBe(2);
  });
});

describe('the history in Temporal', () => {
  test('has the state, the changes and the facts for operators, but no pay link, URL, pricing or seller id', () => {
    const history = historyAfter('signup_started');
    const { id, sellerName, amountPence, reference, version, status, cancelledAt, expiresAt } = history.order;
    const state = { version, status, cancelledAt, expiresAt, updatedAt: atMinute(1), unsuccessfulReason: null };
    expect(toWorkflowOrderHistory(history)).toEqual({
      order: { id, sellerName, amountPence, reference, ...state },
      changes: history.changes,
    });
  });
});

describe('the order after one of its changes', () => {
  const history = historyAfter('signup_started', 'declined', 'cancel');

  test('has the status and the version of that change', () => {
    const { expiresAt } = history.order;
    const open = { expiresAt, cancelledAt: null, unsuccessfulReason: null };
    const declined = { expiresAt, status: 'UNSUCCESSFUL', unsuccessfulReason: 'declined' };
    expect(history.changes.map((change) => stateAfter(history, change))).toEqual([
      { ...open, version: 1, status: 'CREATED', updatedAt: atMinute(0) },
      { ...open, version: 2, status: 'PENDING', updatedAt: atMinute(1) },
      { ...declined, version: 3, cancelledAt: null, updatedAt: atMinute(2) },
      { ...declined, version: 4, cancelledAt: atMinute(3), updatedAt: atMinute(3) },
    ]);
  });

  test('is the current order if the change is the last one', () => {
    for (const current of [history, ...Object.values(IN_STATUS)]) {
      expect(withState(current.order, stateAfter(current, current.changes.at(-1)!))).toEqual(current.order);
    }
  });
});
