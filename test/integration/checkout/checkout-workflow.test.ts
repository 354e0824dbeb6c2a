import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { type CheckoutActivities, createCheckoutActivities } from '../../../src/checkout/temporal/checkout-activities';
import {
  findApplication,
  recordAgreement,
  recordDecision,
  recordReturn,
  storeApplication,
} from '../../../src/checkout/db/applications';
import { findOrder } from '../../../src/db/orders';
import { findLastPayment, recordPaymentStatus } from '../../../src/checkout/db/payments';
import { createSandboxPaymentStore } from '../../../src/checkout/db/sandbox-payments';
import { NO_OFFER } from '../../../src/checkout/domain/application';
import type { PaymentStatus } from '../../../src/checkout/domain/payment';
import { type CallLender, guardLenders } from '../../../src/checkout/lender/guard-lenders';
import type { Lender, LenderAnswer, Lenders } from '../../../src/checkout/lender/lender';
import type { OrderWorkflows } from '../../../src/temporal/order-workflow-client';
import { checkoutState } from '../../../src/checkout/domain/checkout-state';
import { createOrderCore } from '../../../src/checkout/order-core';
import { type PaymentProvider, PaymentProviderUnavailable } from '../../../src/checkout/payments/payment-provider';
import {
  BUSINESS,
  applied,
  customerAt,
  endReferral,
  newCustomer,
  pendingCall,
  proceedCheckout,
  useCheckout,
} from '../../support/checkout';
import { storedText } from '../../support/history';
import { openOrder, timelineOf, untilDue } from '../../support/orders';
import { withNewSeller } from '../../support/stack';
import { until } from '../../support/until';

/** The referral is long enough for two attempts on a slow machine. */
const stack = useCheckout({ env: { SANDBOX_REFERRAL_MS: '8000' } });

/** A decline ends these orders, because their customers cannot pay now instead. */
const ONLY_PAY_LATER = { allowed_payment_terms: ['PAY_LATER'] };

const order = (id: string) => stack.client.workflow.getHandle(`order-${id}`);
const checkout = (id: string) => stack.client.workflow.getHandle(`checkout-${id}`);
const statusOfRow = async (id: string) => (await findOrder(stack.db, id))!.status;
const eventsOf = async (id: string) => (await timelineOf(stack, id)).map(({ event }) => event);
const untilStatus = (id: string, status: string) =>
  until(async () => (await statusOfRow(id)) === status, `the order is ${status}`);
const pending = (id: string) => pendingCall(stack, id);
const untilWaiting = (id: string, error: string) =>
  until(async () => {
    const call = await pending(id).catch(() => undefined);
    return call?.error === error ? call : undefined;
  }, `the call has failed with: ${error}`);
/** Lets some time pass for an order's checkout: the search for unfinished ones finds what is older than some seconds. */
async function pass(id: string): Promise<void> {
  for (const [table, column] of [
    ['application', 'submitted_at'],
    ['application', 'decided_at'],
    ['application', 'agreed_at'],
    ['payment', 'started_at'],
  ])
    await stack.db.query(
      `update ${table} set ${column} = ${column} - interval '2 minutes' where order_id = $1 and ${column} is not null`,
      [id],
    );
}
const eventCount = async (id: string) => (await checkout(id).fetchHistory()).events!.length;

/** Inserts a payment that nobody has been told about. Returns its id. */
async function insertPayment(orderId: string, age = '0', status: PaymentStatus = 'pending'): Promise<string> {
  const { rows } = await stack.db.query<{ id: string }>(
    "insert into payment (order_id, bank, status, started_at) values ($1, 'oak', $3, now() - $2::interval) returning id",
    [orderId, age, status],
  );
  return rows[0]!.id;
}
const paymentStatus = async (id: string) => (await findLastPayment(stack.db, id))?.status;

/** Makes the sandbox bank have a payment that its customer has approved. */
async function payAtBank(paymentId: string): Promise<void> {
  const bank = createSandboxPaymentStore(stack.db);
  await bank.insert({
    id: paymentId,
    bank: 'oak',
    amountPence: 123_450,
    payee: 'Test Shop Ltd',
    reference: 'A-1',
    returnUrl: 'https://shop.example/',
  });
  await bank.decide(paymentId, 'approved');
}
const isRefundedAtBank = async (paymentId: string) =>
  (await createSandboxPaymentStore(stack.db).find(paymentId))!.isRefunded;

describe('what the API could not start is started by a worker', () => {
  test('an application', async () => {
    const id = await applied(stack, 'jo@bloggs.example', { notify: false });
    await pass(id);
    await untilStatus(id, 'APPROVED');
  });

  test('an agreement', async () => {
    const id = await applied(stack, 'jo@bloggs.example');
    await untilStatus(id, 'APPROVED');
    expect(await recordAgreement(stack.db, id, [Buffer.alloc(32)], new Date())).toBe(true);
    await pass(id);
    await untilStatus(id, 'SUCCESSFUL');
  });

  test('a payment, whose order is completed', async () => {
    const id = await openOrder(stack, {}, ['signup_started']);
    await payAtBank(await insertPayment(id, '2 minutes'));
    await untilStatus(id, 'SUCCESSFUL');
    expect(await eventsOf(id)).toEqual(['created', 'signup_started', 'approved', 'completed']);
  });

  test('a payment of a closed order, which is cancelled', async () => {
    const id = await openOrder(stack, {}, ['signup_started', 'failed']);
    await insertPayment(id, '2 minutes');
    await until(async () => (await paymentStatus(id)) === 'cancelled', 'the payment is cancelled');
  });

  test('a payment that the bank has confirmed after it was recorded as refused, which is refunded', async () => {
    const id = await openOrder(stack, {}, ['signup_started']);
    const payment = await insertPayment(id, '2 minutes', 'refused');
    await payAtBank(payment);
    await until(async () => (await paymentStatus(id)) === 'refunded', 'the payment is refunded');
    expect([await isRefundedAtBank(payment), await statusOfRow(id)]).toEqual([true, 'PENDING']);
  });
});

test('the lender is asked again if a restored backup lacks the decision that has approved the order', async () => {
  const id = await applied(stack, 'jo@bloggs.example', { notify: false });
  await stack.api.progress(id, 'approved');
  await pass(id);
  await until(async () => (await findApplication(stack.db, id))?.decision, 'the decision is recorded');
  await checkout(id).result();
  expect(await eventsOf(id)).toEqual(['created', 'signup_started', 'approved']);
});

test('an outage of the lender is shown in Temporal with its cause, and the decision follows', async () => {
  const id = await applied(stack, 'outage@bloggs.example');
  const call = await untilWaiting(id, 'the sandbox simulates an outage');
  expect([call.name, call.attempt! >= 2]).toEqual(['askLender', true]);
  await endReferral(stack.db, id);
  await untilStatus(id, 'APPROVED');
  expect(await eventsOf(id)).toEqual(['created', 'signup_started', 'approved']);
});

test('a referred application is asked about when the lender says, which Temporal shows, without a further event', async () => {
  const id = await applied(stack, 'referred@bloggs.example');
  const call = await untilWaiting(id, 'the lender decides later');
  // The retry policy alone would wait one second.
  expect([call.attempt, call.waitMs > 1500]).toEqual([2, true]);
  expect(await statusOfRow(id)).toBe('PENDING');
  await untilStatus(id, 'APPROVED');
  await checkout(id).result();
  const { events } = await checkout(id).fetchHistory();
  const asked = events!.filter(
    (event) => event.activityTaskScheduledEventAttributes?.activityType?.name === 'askLender',
  );
  expect(asked).toHaveLength(1);
});

test('the search for unfinished checkouts shortens no wait of one that runs', async () => {
  const id = await applied(stack, 'jo@bloggs.example', { notify: false });
  // The bank does not know it, and is asked again after a minute.
  await insertPayment(id, '5 minutes');
  await proceedCheckout(stack, id);
  await untilWaiting(id, 'the bank has not decided yet');
  const before = await eventCount(id);
  // Two rounds of the search find the payment too.
  for (let round = 0; round < 2; round += 1) {
    const other = await applied(stack, 'jo@bloggs.example', { notify: false });
    await pass(other);
    await untilStatus(other, 'APPROVED');
  }
  expect([await eventCount(id), (await pending(id))?.attempt]).toEqual([before, 2]);
});

test('a customer who cancels a payment and applies does not wait until the bank would be asked again', async () => {
  const id = await applied(stack, 'jo@bloggs.example', { notify: false });
  const payment = await insertPayment(id, '5 minutes');
  await proceedCheckout(stack, id);
  expect((await untilWaiting(id, 'the bank has not decided yet')).waitMs).toBeGreaterThan(30_000);
  await recordPaymentStatus(stack.db, payment, 'cancelled');
  await proceedCheckout(stack, id);
  await untilStatus(id, 'APPROVED');
});

test('a checkout whose run was terminated asks again', async () => {
  for (const email of ['outage@bloggs.example', 'referred-declined@bloggs.example']) {
    const id = await applied(stack, email, { data: ONLY_PAY_LATER });
    await until(() => pending(id).catch(() => undefined), 'the lender is asked');
    await checkout(id).terminate('an operator pressed the button');
    await endReferral(stack.db, id);
    await untilStatus(id, email.startsWith('outage') ? 'APPROVED' : 'UNSUCCESSFUL');
  }
});

test('a decision that was recorded before the checkout was terminated is applied', async () => {
  const id = await applied(stack, 'outage@bloggs.example', { data: ONLY_PAY_LATER });
  await until(() => pending(id).catch(() => undefined), 'the lender is asked');
  await checkout(id).terminate();
  await recordDecision(stack.db, (await findApplication(stack.db, id))!.id, { kind: 'declined', code: 'other' });
  await pass(id);
  await untilStatus(id, 'UNSUCCESSFUL');
  expect(await eventsOf(id)).toEqual(['created', 'signup_started', 'declined']);
});

test('a cancel closes the order at once while the lender is unavailable, which is asked no more', async () => {
  for (const email of ['outage@bloggs.example', 'referred@bloggs.example']) {
    const id = await applied(stack, email);
    await until(async () => (await pending(id).catch(() => undefined))?.error, 'the lender has not decided');
    expect((await stack.api.cancel(id)).status).toBe(200);
    await order(id).result();
    await endReferral(stack.db, id);
    await checkout(id).result();
    expect((await findApplication(stack.db, id))!.decision).toBeNull();
    expect(await eventsOf(id)).toEqual(['created', 'signup_started', 'cancel']);
  }
});

test('an application that is submitted while no worker runs is decided later', async () => {
  const id = await openOrder(stack, {}, ['signup_started']);
  const { order_url: url } = (await stack.api.get(id)).body.data;
  await stack.stopWorker();
  const customer = customerAt(url);
  await customer.look();
  await customer.submit('choice', { payment_term: 'PAY_LATER' });
  await customer.send('application', BUSINESS);
  expect((await customer.look()).heading).toBe('Waiting for the decision');
  await stack.startWorker();
  await untilStatus(id, 'APPROVED');
});

test('neither history contains data about the customer or the bank after an application and a payment', async () => {
  const { order_url: url, id } = (await stack.api.create()).body.data;
  const customer = customerAt(url);
  await customer.apply({ email: 'referred@secret.example', business_name: 'Secret & Sons' });
  await until(async () => (await customer.look()).heading === 'You are approved', 'the customer is approved');
  await customer.submit('confirmation', { agree: 'yes' });
  await order(id).result();
  const paying = await newCustomer(stack);
  const bankPage = await paying.customer.startPayment();
  await paying.customer.decideAtBank(bankPage, 'approved');
  for (const run of [order(id), order(paying.id), checkout(id), checkout(paying.id)]) await run.result();
  const text = (
    await Promise.all([order(id), order(paying.id), checkout(id), checkout(paying.id)].map((run) => storedText(run)))
  ).join('\n');
  // A payload: the test would prove nothing if payloads were still encoded.
  expect(text).toContain('"event":"approved"'.replaceAll('"', '\\"'));
  for (const secret of ['secret.example', 'Secret', BUSINESS.company_number, 'http', 'oak']) {
    expect(text).not.toContain(secret);
  }
  expect(text).not.toMatch(/\b(12500|1250000)\b/);
});

describe('money', () => {
  test('a payment that the bank has confirmed is refunded if another checkout flow completes the order first', async () => {
    const id = await openOrder(stack, {}, ['signup_started']);
    const payment = await insertPayment(id);
    await payAtBank(payment);
    await recordPaymentStatus(stack.db, payment, 'paid');
    for (const event of ['approved', 'completed']) expect((await stack.api.progress(id, event)).status).toBe(200);
    await proceedCheckout(stack, id);
    await checkout(id).result();
    expect([await paymentStatus(id), await isRefundedAtBank(payment)]).toEqual(['refunded', true]);
    expect(await statusOfRow(id)).toBe('SUCCESSFUL');
  });

  test('a payment that was confirmed before a cancel is refunded, although its approval is still to be reported', async () => {
    const id = await openOrder(stack, {}, ['signup_started']);
    const payment = await insertPayment(id);
    await payAtBank(payment);
    await recordPaymentStatus(stack.db, payment, 'paid');
    expect((await stack.api.cancel(id)).status).toBe(200);
    await proceedCheckout(stack, id);
    await checkout(id).result();
    expect([await paymentStatus(id), await isRefundedAtBank(payment)]).toEqual(['refunded', true]);
    expect(await statusOfRow(id)).toBe('UNSUCCESSFUL');
  });

  test('a cancellation request in the Temporal UI does not end the return of money', async () => {
    const id = await openOrder(stack, {}, ['signup_started', 'failed']);
    const payment = await insertPayment(id, '20 seconds', 'processing');
    await payAtBank(payment);
    // The bank still processes it.
    await stack.db.query(
      "update sandbox_payment set customer = 'slow', decided_at = now() + interval '1 hour' where id = $1",
      [payment],
    );
    await proceedCheckout(stack, id);
    await untilWaiting(id, 'the bank still processes the payment');
    await checkout(id).cancel();
    await stack.db.query("update sandbox_payment set decided_at = now() - interval '1 hour' where id = $1", [payment]);
    await until(async () => (await paymentStatus(id)) === 'refunded', 'the payment is refunded');
    await checkout(id).result();
  });

  test('a checkout that is terminated between its two reports completes the order', async () => {
    const id = await openOrder(stack, {}, ['signup_started', 'approved']);
    const payment = await insertPayment(id, '2 minutes');
    await payAtBank(payment);
    await recordPaymentStatus(stack.db, payment, 'paid');
    await untilStatus(id, 'SUCCESSFUL');
    await checkout(id).result();
    const { rows } = await stack.db.query('select status, closed_at is not null as closed from payment where id = $1', [
      payment,
    ]);
    expect(rows).toEqual([{ status: 'paid', closed: true }]);
  });
});

describe('the expiry', () => {
  const newExpiring = () => newCustomer(stack, { expires_at: new Date(Date.now() + 20_000).toISOString() });
  /** Instead of waiting for minutes. A run that reads the row again finds that the hold has ended. */
  async function endHold(id: string): Promise<void> {
    await stack.db.query('update orders set held_until = now() where id = $1', [id]);
    await order(id).terminate('a test');
    await until(async () => (await statusOfRow(id)) === 'UNSUCCESSFUL', 'the order expires', 90_000);
  }

  test('waits while a payment is in progress, which then completes the order', async () => {
    const { id, customer } = await newExpiring();
    const bankPage = await customer.startPayment();
    await untilDue(stack.db, id);
    const page = await customer.decideAtBank(bankPage, 'approved');
    expect([page.heading, await statusOfRow(id)]).toEqual(['Your order is complete', 'SUCCESSFUL']);
  }, 120_000);

  test('follows when the hold ends after a payment that was not made, and no further one can be started', async () => {
    const { id, customer } = await newExpiring();
    const bankPage = await customer.startPayment();
    await untilDue(stack.db, id);
    await customer.decideAtBank(bankPage, 'refused');
    await checkout(id).result();
    expect(await statusOfRow(id)).toBe('PENDING');
    const page = await customer.submit('payment', { bank: 'oak' });
    expect(page.text).toContain('no payment can be started');
    const { rows } = await stack.db.query('select status from payment where order_id = $1', [id]);
    expect(rows).toEqual([{ status: 'refused' }]);
    await endHold(id);
    expect((await timelineOf(stack, id)).at(-1)).toMatchObject({ event: 'expired', to_status: 'UNSUCCESSFUL' });
  }, 120_000);

  test('waits while the lender decides, and then leaves the customer the time that was left', async () => {
    const { id, customer } = await newExpiring();
    await customer.apply({ email: 'referred@example.com' });
    // The sandbox lender's referral ends later than the order's time.
    await stack.db.query(`update application set submitted_at = now() + interval '1 hour' where order_id = $1`, [id]);
    await untilDue(stack.db, id);
    expect(await statusOfRow(id)).toBe('PENDING');
    // The lender has taken an hour.
    await endReferral(stack.db, id);
    await proceedCheckout(stack, id);
    await until(async () => (await statusOfRow(id)) === 'APPROVED', 'the lender approves');
    // Its timer is moved before the approval is saved.
    await customer.look();
    await customer.submit('confirmation', { agree: 'yes' });
    expect(await statusOfRow(id)).toBe('SUCCESSFUL');
  }, 120_000);

  test('comes after a day although the bank has not decided, and the payment is refunded once it is paid', async () => {
    const { id, customer } = await newExpiring();
    const bankPage = await customer.startPayment();
    await customer.leaveAtBank(bankPage, 'slow');
    // Afterwards: a payment this old that its customer has not approved is cancelled at the bank.
    await stack.db.query("update payment set started_at = now() - interval '25 hours' where order_id = $1", [id]);
    await untilDue(stack.db, id);
    await endHold(id);
    expect((await timelineOf(stack, id)).at(-1)).toMatchObject({ event: 'expired' });
    await stack.db.query(`update sandbox_payment set decided_at = now() - interval '1 hour'
      where id = (select id from payment where order_id = '${id}')`);
    await customer.look();
    await until(async () => (await paymentStatus(id)) === 'refunded', 'it is refunded', 90_000);
  }, 240_000);
});

/** For activities that neither report nor hold the expiry. */
const NO_WORKFLOWS = {} as OrderWorkflows;
const holdExpiry = jest.fn<Promise<void>, [orderId: string, until: Date]>(() => Promise.resolve());
beforeEach(() => holdExpiry.mockClear());

/** Runs one activity with these lenders, or this bank for sandbox accounts. */
function call<T>(
  make: (activities: CheckoutActivities) => Promise<T>,
  callLender: CallLender,
  bank?: PaymentProvider,
): Promise<T> {
  const activities = createCheckoutActivities({
    db: stack.db,
    callLender,
    lenderSettlements: () => undefined,
    payments: { sandbox: bank, live: undefined },
    core: { ...createOrderCore({ db: stack.db, workflows: NO_WORKFLOWS }), holdExpiry },
    checkoutBaseUrl: 'https://pay.example',
  });
  return new MockActivityEnvironment(undefined, { logger: new DefaultLogger('ERROR') }).run(() => make(activities));
}
const askLender = (id: string, lenders: Lenders, deadlineMs = 25_000) =>
  call((activities) => activities.askLender(id), guardLenders(lenders, { deadlineMs }));
const askBank = (id: string, bank?: PaymentProvider) =>
  call(
    (activities) => activities.askBank(id),
    () => Promise.reject(new Error('not used')),
    bank,
  );
/** An order with an application in a new live account. */
async function appliedLive(): Promise<string> {
  const account = await withNewSeller(stack, { sandbox: true });
  const id = await applied(account, 'jo@bloggs.example', { notify: false });
  // The service has no lender for live accounts, so it refuses their orders.
  await stack.db.query(
    `with account as (update seller set sandbox = false where id = $1)
     update orders set sandbox = false where seller_id = $1`,
    [account.seller.id],
  );
  return id;
}
const answering = (decide: Lender['decide']): Lender => ({ decide, reviewTime: '', quote: () => NO_OFFER });
const unreachable = answering(() => Promise.reject(new Error('this lender must not be asked')));
const OFFER = { instalments: [{ dueInMonths: 1, amountPence: 123_450 }] };
const approving = answering(() => Promise.resolve({ kind: 'approved', offer: OFFER }));

describe('one call of the activity', () => {
  test('a sandbox account never reaches the real lender, and a live account never reaches the sandbox', async () => {
    const sandboxOrder = await applied(stack, 'jo@bloggs.example', { notify: false });
    const approved = expect.objectContaining({ event: 'approved' });
    expect(await askLender(sandboxOrder, { sandbox: approving, live: unreachable })).toEqual(approved);
    const liveOrder = await appliedLive();
    await expect(askLender(liveOrder, { sandbox: approving, live: undefined })).rejects.toThrow(
      'no lender is configured for live accounts: set `live` in src/providers.ts',
    );
    expect(await askLender(liveOrder, { sandbox: unreachable, live: approving })).toEqual(approved);
  });

  test('an action that the customer leaves undone at the lender does not hold the expiry', async () => {
    const id = await appliedLive();
    await stack.db.query(`update orders set expires_at = now() + interval '5 minutes' where id = $1`, [id]);
    const acting = answering(() =>
      Promise.resolve({ kind: 'action_required', url: 'https://lender.example/1', askAgainMs: 1000 }),
    );
    const ask = () => askLender(id, { sandbox: unreachable, live: acting });
    await expect(ask()).rejects.toThrow('the customer has to act on a page of the lender');
    expect((await findApplication(stack.db, id))!.actionUrl).toBe('https://lender.example/1');
    holdExpiry.mockClear();
    await expect(ask()).rejects.toThrow('the customer has to act on a page of the lender');
    expect(holdExpiry).not.toHaveBeenCalled();
    expect(await recordReturn(stack.db, id)).toBe(true);
    await expect(ask()).rejects.toThrow('the customer has to act on a page of the lender');
    expect(holdExpiry).toHaveBeenCalled();
    // Everybody with the link can return, so nobody can keep the order open by that for longer than a day.
    holdExpiry.mockClear();
    await stack.db.query(`update application set submitted_at = now() - interval '25 hours' where order_id = $1`, [id]);
    expect(await recordReturn(stack.db, id)).toBe(true);
    await expect(ask()).rejects.toThrow('the customer has to act on a page of the lender');
    expect(holdExpiry).not.toHaveBeenCalled();
  });

  test('a referral after an action at the lender holds the expiry, and the lender is asked when the customer returns', async () => {
    const id = await appliedLive();
    await stack.db.query(`update orders set expires_at = now() + interval '5 minutes' where id = $1`, [id]);
    const ask = (answer: LenderAnswer) =>
      askLender(id, { sandbox: unreachable, live: answering(() => Promise.resolve(answer)) });
    const acting = ask({ kind: 'action_required', url: 'https://lender.example/1', askAgainMs: 1000 });
    await expect(acting).rejects.toThrow('the customer has to act on a page of the lender');
    holdExpiry.mockClear();
    await expect(ask({ kind: 'referred', askAgainMs: 3_600_000 })).rejects.toThrow('the lender decides later');
    expect(holdExpiry.mock.calls.at(-1)![1].getTime()).toBeGreaterThan(Date.now() + 3_600_000);
    async function state() {
      const application = await findApplication(stack.db, id);
      return checkoutState({ order: (await findOrder(stack.db, id))!, application, payment: undefined });
    }
    expect(await state()).toBe('referred');
    // The next question holds it too, although the customer has not come back.
    holdExpiry.mockClear();
    await expect(ask({ kind: 'referred', askAgainMs: 1000 })).rejects.toThrow('the lender decides later');
    expect(holdExpiry).toHaveBeenCalledTimes(2);
    expect(await recordReturn(stack.db, id)).toBe(true);
    const again = ask({ kind: 'action_required', url: 'https://lender.example/2', askAgainMs: 1000 });
    await expect(again).rejects.toThrow('the customer has to act on a page of the lender');
    expect(await state()).toBe('action-required');
  });

  test('an answer about an application that the customer has replaced is ignored', async () => {
    const id = await appliedLive();
    const first = (await findApplication(stack.db, id))!;
    const late = answering(async () => {
      await recordDecision(stack.db, first.id, { kind: 'failed' });
      const { applicant } = first.submitted!;
      await storeApplication(stack.db, id, { applicant, browserDigest: Buffer.alloc(32), replaces: first.id });
      return { kind: 'approved', offer: OFFER };
    });
    expect(await askLender(id, { sandbox: unreachable, live: late })).toBeNull();
    const second = (await findApplication(stack.db, id))!;
    expect([second.id === first.id, second.decision]).toEqual([false, null]);
  });

  test('an unavailable bank fails it with a type of its own', async () => {
    const { id, customer } = await newCustomer(stack);
    await customer.startPayment();
    await expect(askBank(id)).rejects.toMatchObject({
      type: 'BankUnavailable',
      message: 'no payment provider is configured for sandbox accounts: set HOSTED_CHECKOUT=true',
    });
  });

  /** Asks a bank that reports these statuses about a payment that no workflow asks about. */
  async function askAbout(age: string, found: PaymentStatus, cancel: () => Promise<PaymentStatus>) {
    const id = await openOrder(stack, {}, ['signup_started']);
    await insertPayment(id, age);
    const unused = () => Promise.reject(new Error('not used'));
    const statusOf = () => Promise.resolve(found);
    const bank = { name: '', regulation: '', banks: [], start: unused, refund: unused, statusOf, cancel };
    const result = await askBank(id, bank).catch((error: unknown) => {
      const { message, nextRetryDelay } = error as { message: string; nextRetryDelay?: number };
      return [message, nextRetryDelay];
    });
    return [result, await paymentStatus(id)];
  }

  test('a payment that is not approved after 15 minutes is cancelled, unless the customer has just approved it', async () => {
    const waiting = ['the bank has not decided yet', 60_000];
    const mustNotCancel = () => Promise.reject(new Error('this payment must not be cancelled'));
    expect(await askAbout('14 minutes', 'pending', mustNotCancel)).toEqual([waiting, 'pending']);
    // Not cancelled: the customer has approved it.
    expect(await askAbout('16 minutes', 'processing', mustNotCancel)).toEqual([waiting, 'processing']);
    const cancelTo = (status: PaymentStatus) => askAbout('16 minutes', 'pending', () => Promise.resolve(status));
    expect(await cancelTo('cancelled')).toEqual(['cancelled', 'cancelled']);
    expect(await cancelTo('processing')).toEqual([waiting, 'processing']);
    expect(await cancelTo('paid')).toEqual(['paid', 'paid']);
    const down = () => Promise.reject(new PaymentProviderUnavailable('the bank is down'));
    expect(await askAbout('16 minutes', 'pending', down)).toEqual([['the bank is down', undefined], 'pending']);
  });

  test.each([
    [1, 'which comes in 5 minutes', "now() + interval '5 minutes'", '1 minute'],
    [0, 'which comes in an hour', "now() + interval '1 hour'", '1 minute'],
    [0, 'which never comes', 'null', '1 minute'],
    [0, 'if the payment is older than a day', "now() + interval '5 minutes'", '25 hours'],
  ])('it holds an expiry %i times, %s, before it asks a bank that does not answer', async (holds, _, expiry, age) => {
    const id = await openOrder(stack, {}, ['signup_started']);
    await stack.db.query(`update orders set expires_at = ${expiry} where id = $1`, [id]);
    await insertPayment(id, age);
    const down = { statusOf: () => Promise.reject(new PaymentProviderUnavailable('the bank is down')) };
    const bank = down as unknown as PaymentProvider;
    await expect(askBank(id, bank)).rejects.toThrow('the bank is down');
    expect(holdExpiry).toHaveBeenCalledTimes(holds);
    for (const [, until_] of holdExpiry.mock.calls) expect(until_.getTime() - Date.now()).toBeGreaterThan(5 * 60_000);
  });

  test('a payment that is paid holds the expiry until it is reported, and so does a report that fails', async () => {
    const id = await openOrder(stack, {}, ['signup_started']);
    await stack.db.query(`update orders set expires_at = now() + interval '5 minutes' where id = $1`, [id]);
    await insertPayment(id, '1 minute');
    const lastHoldMs = () => holdExpiry.mock.calls.at(-1)![1].getTime() - Date.now();
    const paying = { statusOf: () => Promise.resolve('paid') } as unknown as PaymentProvider;
    expect(await askBank(id, paying)).toBe('paid');
    expect(lastHoldMs()).toBeGreaterThan(29 * 86_400_000);
    holdExpiry.mockClear();
    // No order workflow can be told.
    const report = call(
      (activities) =>
        activities.reportToOrder(id, { event: 'approved', actor: 'checkout', reason: null, paymentTerm: 'PAY_LATER' }),
      () => Promise.reject(new Error('not used')),
    );
    await expect(report).rejects.toThrow();
    expect(lastHoldMs()).toBeGreaterThan(86_000_000);
  });

  test("an error or an invalid offer of the lender's adapter fails it without its message and cause", async () => {
    const id = await appliedLive();
    const ask = (decide: Lender['decide']) => askLender(id, { sandbox: unreachable, live: answering(decide) });
    const failed = ask((application) =>
      Promise.reject(new TypeError(`no such person: ${application.applicant.email}`)),
    );
    await expect(failed).rejects.toMatchObject({ message: "the lender's adapter failed: TypeError", cause: undefined });
    const underpaid = ask(() => Promise.resolve({ kind: 'approved', offer: NO_OFFER }));
    await expect(underpaid).rejects.toMatchObject({ type: 'LenderUnavailable', nonRetryable: false });
    expect((await findApplication(stack.db, id))!.decision).toBeNull();
    expect(await ask(() => Promise.resolve({ kind: 'failed' }))).toBeNull();
  });

  test('a call to a lender that does not answer is aborted, and fails so that it is retried', async () => {
    const id = await appliedLive();
    const aborted = jest.fn();
    const hanging = answering((_, signal) => {
      signal.addEventListener('abort', aborted);
      return new Promise(() => undefined);
    });
    await expect(askLender(id, { sandbox: unreachable, live: hanging }, 50)).rejects.toMatchObject({
      message: 'the lender has not answered within 50 ms',
      nonRetryable: false,
    });
    expect(aborted).toHaveBeenCalledTimes(1);
  });

  test('the late answer of a call that was given up changes nothing after the next call has a decision', async () => {
    const id = await appliedLive();
    let answerLate: ((answer: LenderAnswer) => void) | undefined;
    const late = askLender(id, {
      sandbox: unreachable,
      live: answering(() => new Promise((resolve) => (answerLate = resolve))),
    });
    const declining = answering(() => Promise.resolve({ kind: 'declined', code: 'other' }));
    await until(() => answerLate, 'the lender is asked');
    await askLender(id, { sandbox: unreachable, live: declining });
    answerLate!({ kind: 'approved', offer: OFFER });
    expect(await late).toMatchObject({ event: 'declined' });
    expect((await findApplication(stack.db, id))!.decision).toEqual({ kind: 'declined', code: 'other' });
  });
});
