import {
  type ChangeRequest,
  type OrderHistory,
  created,
  decide,
  isStatusChange,
  classifyEvent,
  stateAfter,
  sequenceOf,
  toWorkflowHistory,
  withState,
} from '../../../src/domain/order';
import { ORDER_STATUSES } from '../../../src/domain/status';
import { CREATED_AT, IN_STATUS, ORDER, historyAfter, atMinute, request } from './histories';

/** What `decide` makes of it, where it makes a change. */
function changed(history: OrderHistory, asked: ChangeRequest, now: string): OrderHistory {
  const decision = decide(history, asked, now);
  if (decision.kind !== 'change') throw new Error(`expected a change, not ${decision.kind}`);
  return decision.next;
}

describe('a new order', () => {
  test('has one line of history: who created it, when, from no status', () => {
    expect(created(ORDER, 'seller')).toEqual({
      order: ORDER,
      changes: [
        { version: 1, event: 'created', from: null, to: 'CREATED', actor: 'seller', reason: null, at: CREATED_AT },
      ],
    });
  });
});

describe('a change', () => {
  test('moves the status, adds one version and one line, and leaves all else as it was', () => {
    const before = IN_STATUS.PENDING;
    const next = changed(before, request('approved', { actor: 'checkout', reason: 'score 720' }), atMinute(9));
    expect(next.order).toEqual({ ...before.order, status: 'APPROVED', version: 3 });
    expect(next.changes).toEqual([
      ...before.changes,
      {
        version: 3,
        event: 'approved',
        from: 'PENDING',
        to: 'APPROVED',
        actor: 'checkout',
        reason: 'score 720',
        at: atMinute(9),
      },
    ]);
  });

  test('touches neither the history it was given nor anything in it', () => {
    const before = historyAfter('signup_started');
    const copy = structuredClone(before);
    decide(before, request('cancel'), atMinute(5));
    expect(before).toEqual(copy);
  });

  test('numbers the versions without a gap', () => {
    expect(IN_STATUS.SUCCESSFUL.changes.map((change) => change.version)).toEqual([1, 2, 3, 4]);
    expect(IN_STATUS.SUCCESSFUL.order.version).toBe(4);
  });

  test('by a clock that is behind is dated as the change before it', () => {
    const before = historyAfter('signup_started', 'approved');
    const next = changed(before, request('cancel'), atMinute(-60));
    expect(next.changes.at(-1)?.at).toBe(atMinute(2));
    expect(next.order.cancelledAt).toBe(atMinute(2));
  });

  test('by a clock that is behind the creation is dated as the creation', () => {
    expect(changed(historyAfter(), request('failed'), atMinute(-1)).changes.at(-1)?.at).toBe(CREATED_AT);
  });
});

describe('an event that the history holds', () => {
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

describe('an event that the table lacks', () => {
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
    'of a %s order makes it UNSUCCESSFUL and dates it',
    (status) => {
      const { order } = changed(IN_STATUS[status], request('cancel'), atMinute(30));
      expect(order).toMatchObject({ status: 'UNSUCCESSFUL', cancelledAt: atMinute(30) });
    },
  );

  test('of an UNSUCCESSFUL order dates it and leaves its status', () => {
    const next = changed(IN_STATUS.UNSUCCESSFUL, request('cancel'), atMinute(30));
    expect(next.order).toMatchObject({ status: 'UNSUCCESSFUL', cancelledAt: atMinute(30), version: 4 });
    expect(next.changes.at(-1)).toMatchObject({ event: 'cancel', from: 'UNSUCCESSFUL', to: 'UNSUCCESSFUL' });
  });

  test('that comes again leaves the first date', () => {
    const cancelled = historyAfter('cancel');
    expect(decide(cancelled, request('cancel'), atMinute(30)).kind).toBe('repeat');
    expect(cancelled.order.cancelledAt).toBe(atMinute(1));
  });

  test('of a SUCCESSFUL order is refused', () => {
    expect(decide(IN_STATUS.SUCCESSFUL, request('cancel'), atMinute(30)).kind).toBe('refused');
  });
});

test('only a cancel dates the cancellation', () => {
  for (const status of ORDER_STATUSES) expect(IN_STATUS[status].order.cancelledAt).toBeNull();
  expect(historyAfter('failed').order.cancelledAt).toBeNull();
  expect(historyAfter('expired').order.cancelledAt).toBeNull();
});

describe('what sellers hear of', () => {
  const declinedThenCancelled = historyAfter('signup_started', 'declined', 'cancel');

  test('is a change to another status: neither the creation nor the cancel of what was UNSUCCESSFUL', () => {
    expect(declinedThenCancelled.changes.map(isStatusChange)).toEqual([false, true, true, false]);
  });

  test('is numbered from 1 without a gap', () => {
    const { changes } = IN_STATUS.SUCCESSFUL;
    expect(changes.slice(1).map((change) => sequenceOf(changes, change))).toEqual([1, 2, 3]);
  });

  test('keeps its number when later changes are known', () => {
    const { changes } = declinedThenCancelled;
    expect(sequenceOf(changes, changes[1]!)).toBe(1);
    expect(sequenceOf(changes, changes[2]!)).toBe(2);
  });
});

describe('the history that enters Temporal', () => {
  test('carries the state, the changes and what operators see, but no pay link, URL, pricing or seller id', () => {
    const history = historyAfter('signup_started');
    const { id, sellerName, amountPence, reference, version, status, cancelledAt, expiresAt } = history.order;
    expect(toWorkflowHistory(history)).toEqual({
      order: { id, sellerName, amountPence, reference, version, status, cancelledAt, expiresAt },
      changes: history.changes,
    });
  });
});

describe('the order as a change left it', () => {
  const history = historyAfter('signup_started', 'declined', 'cancel');

  test('has the status and the version of that change', () => {
    const { expiresAt } = history.order;
    expect(history.changes.map((change) => stateAfter(history, change))).toEqual([
      { expiresAt, version: 1, status: 'CREATED', cancelledAt: null },
      { expiresAt, version: 2, status: 'PENDING', cancelledAt: null },
      { expiresAt, version: 3, status: 'UNSUCCESSFUL', cancelledAt: null },
      { expiresAt, version: 4, status: 'UNSUCCESSFUL', cancelledAt: atMinute(3) },
    ]);
  });

  test('is the order itself for its last change', () => {
    for (const one of [history, ...Object.values(IN_STATUS)]) {
      expect(withState(one.order, stateAfter(one, one.changes.at(-1)!))).toEqual(one.order);
    }
  });
});
