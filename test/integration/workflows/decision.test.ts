import { temporal } from '@temporalio/proto';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { type Lenders, createActivities } from '../../../activities/index';
import { findApplication, recordDecision, storeApplication } from '../../../src/db/applications';
import { findOrder } from '../../../src/db/find-orders';
import { findLastPayment } from '../../../src/db/payments';
import { NO_OFFER } from '../../../src/domain/application';
import type { PaymentStatus } from '../../../src/domain/payment';
import { type Lender, type LenderAnswer, LenderUnavailable } from '../../../src/lender/lender';
import { type PaymentProvider, PaymentProviderUnavailable } from '../../../src/payments/payment-provider';
import { apiOf } from '../../support/api';
import { BUSINESS, applied, customerAt, endReferral, newCustomer, startCheckout } from '../../support/checkout';
import { storedText } from '../../support/history';
import { detailsOf, isRunning, openOrder, statusOf, timelineOf } from '../../support/orders';
import { useReceiver } from '../../support/receiver';
import { createSeller } from '../../support/stack';
import { until } from '../../support/until';
import { useResource } from '../../support/use-resource';

const { EventType } = temporal.api.enums.v1;
const stack = useResource(
  // Long enough for two attempts on a slow machine.
  () => startCheckout({ env: { SANDBOX_REFERRAL_MS: '8000' } }),
  (started) => started.stop(),
);
const receiver = useReceiver();

/** A decline ends these orders, because their customers cannot pay now instead. */
const ONLY_PAY_LATER = { allowed_payment_terms: ['PAY_LATER'] };

const workflow = (id: string) => stack.client.workflow.getHandle(`order-${id}`);
const statusOfRow = async (id: string) => (await findOrder(stack.db, id))!.order.status;
const eventsOf = async (id: string) => (await timelineOf(stack, id)).map(({ event }) => event);
const untilStatus = (id: string, status: string) =>
  until(async () => (await statusOfRow(id)) === status, `the order is ${status}`);

async function pendingActivities(id: string): Promise<string[]> {
  const { raw } = await workflow(id).describe();
  return (raw.pendingActivities ?? []).map((activity) => activity.activityType?.name ?? '');
}
const untilLenderIsAsked = (id: string) =>
  until(async () => (await pendingActivities(id)).includes('askForDecision'), 'the workflow asks the lender');
const details = (id: string) => detailsOf(stack.client, id);

test('the sweep notifies a workflow of an application if nothing else did', async () => {
  const id = await applied(stack, 'jo@bloggs.example', { notify: false, sweepAfterMs: 0 });
  await untilStatus(id, 'APPROVED');
});

test('the lender is asked again if a restored backup lacks the decision that has approved the order', async () => {
  const id = await applied(stack, 'jo@bloggs.example', { notify: false });
  await stack.api.progress(id, 'approved');
  await workflow(id).terminate('the run is lost too');
  await stack.db.query('update order_work set sweep_at = now() where order_id = $1', [id]);
  await until(async () => (await findApplication(stack.db, id))?.decision, 'the decision is recorded');
  expect(await eventsOf(id)).toEqual(['created', 'signup_started', 'approved', 'recovered']);
});

test('the workflow retries during an outage of the lender and shows the outage with its cause', async () => {
  const id = await applied(stack, 'outage@bloggs.example');
  await untilLenderIsAsked(id);
  // On a busy machine, the second attempt may have failed already.
  expect(await details(id)).toMatch(
    /^- Decision: (waiting for the lender or the bank since 2\S+Z$|the lender has been unavailable)/m,
  );
  const outage =
    /^- Decision: the lender has been unavailable since 2\S+Z, error `the sandbox simulates an outage`; the lender is asked again/m;
  await until(async () => outage.test(await details(id)), 'the details show the outage after two attempts');
  await endReferral(stack.db, id);
  await untilStatus(id, 'APPROVED');
  expect(await eventsOf(id)).toEqual(['created', 'signup_started', 'approved']);
  await until(async () => !(await details(id)).includes('the lender'), 'the details no longer mention the lender');
});

test('the workflow asks again about a referred application and shows when', async () => {
  const id = await applied(stack, 'referred@bloggs.example');
  await until(
    async () => (await details(id)).includes('has not decided yet: asked again at'),
    'the application is referred',
  );
  expect(await statusOfRow(id)).toBe('PENDING');
  await untilStatus(id, 'APPROVED');
});

test('a customer who cancels a payment and applies does not wait until the bank would be asked again', async () => {
  const id = await applied(stack, 'jo@bloggs.example', { notify: false, sweepAfterMs: 600_000 });
  await stack.db.query(
    `insert into payment (order_id, bank, started_at) values ($1, 'oak', now() - interval '5 minutes')`,
    [id],
  );
  await workflow(id).signal('requestDecision');
  const line = await until(async () => /asked again at (\S+Z)/.exec(await details(id)), 'the bank is asked');
  expect(Date.parse(line[1]!) - Date.now()).toBeGreaterThan(30_000);
  await stack.db.query(`update payment set status = 'cancelled', closed_at = now() where order_id = $1`, [id]);
  await workflow(id).signal('requestDecision');
  await untilStatus(id, 'APPROVED');
});

test('a workflow that is resumed after a terminate asks the lender again', async () => {
  for (const email of ['outage@bloggs.example', 'referred-declined@bloggs.example']) {
    const id = await applied(stack, email, { data: ONLY_PAY_LATER });
    await until(async () => (await details(id)).includes('lender'), 'the workflow waits for the lender');
    await workflow(id).terminate('an operator pressed the button');
    await endReferral(stack.db, id);
    await untilStatus(id, email.startsWith('outage') ? 'APPROVED' : 'UNSUCCESSFUL');
  }
});

test('a decision that was recorded before the workflow was terminated is applied', async () => {
  const id = await applied(stack, 'outage@bloggs.example', { data: ONLY_PAY_LATER });
  await untilLenderIsAsked(id);
  await workflow(id).terminate();
  await recordDecision(stack.db, (await findApplication(stack.db, id))!.id, { kind: 'declined', code: 'other' });
  await untilStatus(id, 'UNSUCCESSFUL');
  expect(await eventsOf(id)).toEqual(['created', 'signup_started', 'recovered', 'declined']);
});

test('a cancel stops the requests to the lender, and the workflow continues for its webhooks', async () => {
  receiver.answerWith(500);
  for (const email of ['outage@bloggs.example', 'referred@bloggs.example']) {
    const id = await applied(stack, email, { data: { webhook_url: receiver.url } });
    await until(async () => (await details(id)).includes('lender'), 'the workflow waits for the lender');
    expect((await stack.api.cancel(id)).status).toBe(200);
    await until(
      async () => !(await pendingActivities(id)).includes('askForDecision'),
      'the workflow no longer asks the lender',
    );
    expect(await isRunning(stack.client, id)).toBe(true);
    await until(async () => !(await details(id)).includes('the lender'), 'the details no longer mention the lender');
    expect(await eventsOf(id)).toEqual(['created', 'signup_started', 'cancel']);
    await workflow(id).terminate();
  }
});

test('a cancel closes an order without webhooks while the lender is unavailable', async () => {
  const id = await applied(stack, 'outage@bloggs.example');
  await untilLenderIsAsked(id);
  await stack.api.cancel(id);
  await workflow(id).result();
  expect(await statusOf(stack.client, id)).toBe('COMPLETED');
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

test('the history of an order contains no data about the customer after an application, a decision and a completion', async () => {
  const { order_url: url, id } = (await stack.api.create()).body.data;
  const customer = customerAt(url);
  await customer.apply({ email: 'referred@secret.example', business_name: 'Secret & Sons' });
  await until(async () => (await customer.look()).heading === 'You are approved', 'the customer is approved');
  await customer.submit('confirmation', { agree: 'yes' });
  await workflow(id).result();
  const { events } = await workflow(id).fetchHistory();
  const text = await storedText(workflow(id));
  // A payload: the test would prove nothing if payloads were still encoded.
  expect(text).toContain('"kind":"decided"'.replaceAll('"', '\\"'));
  for (const secret of ['secret.example', 'Secret', BUSINESS.company_number]) expect(text).not.toContain(secret);
  expect(text).not.toMatch(/\b(12500|1250000)\b/);
  const scheduled = events!.filter(({ eventType }) => eventType === EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED);
  const names = scheduled.map((event) => event.activityTaskScheduledEventAttributes!.activityType!.name);
  expect([names.length >= 2, new Set(names)]).toEqual([true, new Set(['askForDecision'])]);
  // The saves are local activities.
  expect(events!.filter(({ eventType }) => eventType === EventType.EVENT_TYPE_MARKER_RECORDED)).toHaveLength(3);
});

/** Runs the activity with these lenders, and this bank for sandbox accounts. */
function askForDecision(id: string, lenders: Lenders, bank?: PaymentProvider) {
  const activities = createActivities({
    db: stack.db,
    keys: undefined as never,
    lenders,
    payments: { sandbox: bank, live: undefined },
    sender: undefined as never,
    schedule: undefined as never,
    attemptsPerSeller: 1,
    breaker: undefined as never,
    log: undefined as never,
    checkoutBaseUrl: 'http://127.0.0.1',
    checkAfterMs: 1000,
  });
  return new MockActivityEnvironment(undefined, { logger: new DefaultLogger('ERROR') }).run(() =>
    activities.askForDecision(id),
  );
}
/** An order with an application in a new live account. */
async function appliedLive(): Promise<string> {
  const api = apiOf(stack.api.url, await createSeller(stack.db), stack.api.checkoutKey);
  return applied({ ...stack, api }, 'jo@bloggs.example', { notify: false });
}
const answering = (decide: Lender['decide']): Lender => ({ decide, reviewTime: '', quote: () => NO_OFFER });
const unreachable = answering(() => Promise.reject(new Error('this lender must not be asked')));

test('a sandbox account never reaches the real lender, and a live account never reaches the sandbox', async () => {
  const sandboxOrder = await applied(stack, 'jo@bloggs.example', { notify: false });
  const approving = answering(() => Promise.resolve({ kind: 'approved', offer: NO_OFFER }));
  const approved = expect.objectContaining({ kind: 'decided', event: 'approved' });
  expect(await askForDecision(sandboxOrder, { sandbox: approving, live: unreachable })).toEqual(approved);
  const liveOrder = await appliedLive();
  await expect(askForDecision(liveOrder, { sandbox: approving, live: undefined })).rejects.toThrow(
    'no lender is configured for live accounts: set `live` in src/providers.ts',
  );
  expect(await askForDecision(liveOrder, { sandbox: unreachable, live: approving })).toEqual(approved);
});

test('an answer about an application that the customer has replaced is ignored', async () => {
  const id = await appliedLive();
  const first = (await findApplication(stack.db, id))!;
  const late = answering(async () => {
    await recordDecision(stack.db, first.id, { kind: 'failed' });
    await storeApplication(stack.db, id, {
      applicant: first.submitted!.applicant,
      browserDigest: Buffer.alloc(32),
      replaces: first.id,
      sweepAfterMs: 60_000,
    });
    return { kind: 'approved', offer: NO_OFFER };
  });
  expect(await askForDecision(id, { sandbox: unreachable, live: late })).toEqual({ kind: 'nothing' });
  const second = (await findApplication(stack.db, id))!;
  expect([second.id === first.id, second.decision]).toEqual([false, null]);
});

test('an unavailable bank fails the activity with a type of its own, by which the details name the bank', async () => {
  const { id, customer } = await newCustomer(stack);
  await customer.startPayment();
  await expect(askForDecision(id, { sandbox: unreachable, live: unreachable })).rejects.toMatchObject({
    type: 'BankUnavailable',
    message: 'no payment provider is configured for sandbox accounts: set CHECKOUT_LENDER',
  });
});

/** Asks a bank that reports these statuses about a payment that no workflow asks about. */
async function askBank(age: string, found: PaymentStatus, cancel: () => Promise<PaymentStatus>) {
  const id = await openOrder(stack, {}, ['signup_started']);
  await stack.db.query("insert into payment (order_id, bank, started_at) values ($1, 'oak', now() - $2::interval)", [
    id,
    age,
  ]);
  const unused = () => Promise.reject(new Error('not used'));
  const bank = { banks: [], start: unused, refund: unused, statusOf: () => Promise.resolve(found), cancel };
  const response = await askForDecision(id, { sandbox: unreachable, live: unreachable }, bank);
  return [response, (await findLastPayment(stack.db, id))?.status];
}

test('the activity cancels a payment that is not approved after 15 minutes, unless the customer has just approved it', async () => {
  const waiting = { kind: 'referred', askAgainMs: 60_000 };
  const mustNotCancel = () => Promise.reject(new Error('this payment must not be cancelled'));
  expect(await askBank('14 minutes', 'pending', mustNotCancel)).toEqual([waiting, 'pending']);
  expect(await askBank('16 minutes', 'processing', mustNotCancel)).toEqual([waiting, 'processing']);
  const cancelTo = (status: PaymentStatus) => askBank('16 minutes', 'pending', () => Promise.resolve(status));
  expect(await cancelTo('cancelled')).toEqual([{ kind: 'nothing' }, 'cancelled']);
  expect(await cancelTo('processing')).toEqual([waiting, 'processing']);
  expect(await cancelTo('paid')).toEqual([expect.objectContaining({ event: 'approved', isPaid: true }), 'paid']);
  const down = () => Promise.reject(new PaymentProviderUnavailable('the bank is down'));
  await expect(askBank('16 minutes', 'pending', down)).rejects.toMatchObject({
    type: 'BankUnavailable',
    message: 'the bank is down',
  });
});

test("an error of the lender's adapter fails the activity without its message and cause", async () => {
  const id = await appliedLive();
  const ask = (decide: Lender['decide']) => askForDecision(id, { sandbox: unreachable, live: answering(decide) });
  const failed = ask((application) => Promise.reject(new TypeError(`no such person: ${application.applicant.email}`)));
  await expect(failed).rejects.toMatchObject({ message: "the lender's adapter failed: TypeError", cause: undefined });
  expect(await ask(() => Promise.resolve({ kind: 'failed' }))).toEqual({ kind: 'nothing' });
});

test('a call to a lender that does not answer is aborted before Temporal ends it, and fails so that it is retried', async () => {
  const id = await appliedLive();
  // Less than the 30 s of the activity, after which the failure would not name the lender.
  const timeoutMs = 25_000;
  const { setTimeout: original } = globalThis;
  const spy = jest
    .spyOn(globalThis, 'setTimeout')
    .mockImplementation((run: () => void, ms?: number) => original(run, ms === timeoutMs ? 100 : ms));
  const hanging = answering(
    (_, signal) =>
      new Promise((__, reject) => {
        signal.addEventListener('abort', () => reject(new LenderUnavailable('no answer in time')));
      }),
  );
  await expect(askForDecision(id, { sandbox: unreachable, live: hanging })).rejects.toMatchObject({
    message: 'no answer in time',
    nonRetryable: false,
  });
  expect(spy).toHaveBeenCalledWith(expect.anything(), timeoutMs);
  spy.mockRestore();
});

test('the late answer of a call that was given up changes nothing after the next call has a decision', async () => {
  const id = await appliedLive();
  let answerLate: ((answer: LenderAnswer) => void) | undefined;
  const late = askForDecision(id, {
    sandbox: unreachable,
    live: answering(() => new Promise((resolve) => (answerLate = resolve))),
  });
  const declining = answering(() => Promise.resolve({ kind: 'declined', code: 'other' }));
  await until(() => answerLate, 'the lender is asked');
  await askForDecision(id, { sandbox: unreachable, live: declining });
  answerLate!({ kind: 'approved', offer: NO_OFFER });
  expect(await late).toMatchObject({ kind: 'decided', event: 'declined' });
  expect((await findApplication(stack.db, id))!.decision).toEqual({ kind: 'declined', code: 'other' });
});
