import {
  type ChangeRequest,
  type Order,
  creation,
  decide,
  isStatusChange,
  sequenceOf,
  stateOf,
  withChange,
} from '../../../src/domain/order';
import { CREATED_AT, FACTS, IN_STATUS, orderAfter, atMinute, request } from '../../support/domain-orders';

/** Applies a request that must change the order. */
function changed(order: Order, changeRequest: ChangeRequest, now: string): Order {
  const change = decide(order, changeRequest, now);
  if (typeof change === 'string') throw new Error(`expected a change, not ${change}`);
  return withChange(order, change);
}

describe('a new order', () => {
  test('has one change, which names its creator, its channel and its time', () => {
    const created = creation(CREATED_AT);
    expect(created).toMatchObject({ version: 1, event: 'created', to: 'CREATED', actor: 'seller', channel: 'api' });
    expect(stateOf([created], atMinute(60))).toEqual({
      version: 1,
      status: 'CREATED',
      createdAt: CREATED_AT,
      updatedAt: CREATED_AT,
      expiresAt: atMinute(60),
      cancelledAt: null,
      completedAt: null,
      unsuccessfulReason: null,
      paymentTerm: null,
      changes: [created],
    });
  });
});

describe('a change', () => {
  test('sets the status, adds one version and one entry, and changes nothing else', () => {
    const before = IN_STATUS.PENDING;
    const next = changed(
      before,
      request('approved', { actor: 'checkout', channel: 'workflow', reason: 'score 720' }),
      atMinute(9),
    );
    expect(next).toEqual({ ...before, status: 'APPROVED', version: 3, updatedAt: atMinute(9), changes: next.changes });
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
        paymentTerm: null,
        at: atMinute(9),
      },
    ]);
  });

  test('does not modify the order that it is applied to', () => {
    const before = orderAfter('signup_started');
    const copy = structuredClone(before);
    changed(before, request('cancel'), atMinute(5));
    expect(before).toEqual(copy);
  });

  test('increases the version by one', () => {
    expect(IN_STATUS.SUCCESSFUL.changes.map(({ version }) => version)).toEqual([1, 2, 3, 4]);
    expect(IN_STATUS.SUCCESSFUL.version).toBe(4);
  });

  test('has the time of the change before it if the clock is behind', () => {
    const before = orderAfter('signup_started', 'approved');
    const next = changed(before, request('cancel'), atMinute(-60));
    expect(next.changes.at(-1)?.at).toBe(atMinute(2));
    expect(next.cancelledAt).toBe(atMinute(2));
  });

  test('has the time of the creation if the clock is behind the creation', () => {
    expect(changed(orderAfter(), request('failed'), atMinute(-1)).changes.at(-1)?.at).toBe(CREATED_AT);
  });
});

test('a cancel sets cancelledAt of an UNSUCCESSFUL order and keeps its status', () => {
  const next = changed(IN_STATUS.UNSUCCESSFUL, request('cancel'), atMinute(30));
  expect(next).toMatchObject({ status: 'UNSUCCESSFUL', cancelledAt: atMinute(30), version: 4 });
  expect(next.changes.at(-1)).toMatchObject({ event: 'cancel', from: 'UNSUCCESSFUL', to: 'UNSUCCESSFUL' });
});

describe('a change that sellers get a webhook for', () => {
  const declinedThenCancelled = orderAfter('signup_started', 'declined', 'cancel');

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

test('the payment term is the one that was last reported with a change', () => {
  const chosen = changed(orderAfter(), request('signup_started', { paymentTerm: 'PAY_LATER' }), atMinute(1));
  const approved = changed(chosen, request('approved'), atMinute(2));
  expect([chosen, approved].map(({ paymentTerm }) => paymentTerm)).toEqual(['PAY_LATER', 'PAY_LATER']);
  const completed = changed(approved, request('completed', { paymentTerm: 'PAY_NOW' }), atMinute(3));
  expect(completed.paymentTerm).toBe('PAY_NOW');
  expect(completed.changes.map(({ paymentTerm }) => paymentTerm)).toEqual([null, 'PAY_LATER', null, 'PAY_NOW']);
});

test('the state of an order has no fact: no pay link, URL, pricing or seller', () => {
  const order = orderAfter('signup_started');
  expect(Object.keys(stateOf(order.changes, null)).filter((field) => field in FACTS)).toEqual([]);
});

describe('the state after each change', () => {
  const { changes } = orderAfter('signup_started', 'declined', 'cancel');
  const stateAt = (version: number) => stateOf(changes.slice(0, version), null);

  test('has the status and the version of that change', () => {
    const open = { cancelledAt: null, unsuccessfulReason: null };
    const declined = { status: 'UNSUCCESSFUL', unsuccessfulReason: 'declined' };
    expect([1, 2, 3, 4].map(stateAt)).toMatchObject([
      { ...open, version: 1, status: 'CREATED', updatedAt: atMinute(0) },
      { ...open, version: 2, status: 'PENDING', updatedAt: atMinute(1) },
      { ...declined, version: 3, cancelledAt: null, updatedAt: atMinute(2) },
      { ...declined, version: 4, cancelledAt: atMinute(3), updatedAt: atMinute(3) },
    ]);
  });

  test('keeps the creation and the expiry', () => {
    expect(stateOf(changes, atMinute(60))).toMatchObject({ createdAt: CREATED_AT, expiresAt: atMinute(60) });
  });
});
