import {
  choosePaymentTerm,
  purgeApplicantData,
  findApplication,
  recordAgreement,
  recordDecision,
  recordReferral,
  submitApplication,
} from '../../../src/db/applications';
import { type Db, inTransaction } from '../../../src/db/pool';
import { isApplicationPending, leaseDueOrders } from '../../../src/db/order-work';
import type { LenderDecision } from '../../../src/domain/application';
import type { OrderEvent } from '../../../src/domain/status';
import { type TestDatabase, createDatabase, statementsWaiting } from '../../support/database';
import { until } from '../../support/until';
import { go, insertedOrder, saveHistory, sweptIn } from './new-orders';

const APPLICANT = {
  businessName: 'Bloggs Ltd',
  companyNumber: '01234567',
  email: 'jo@bloggs.example',
  monthlyTurnoverPence: 1_250_050,
};
const DAY_MS = 86_400_000;
const AGREED_AT = new Date('2027-01-15T12:00:00.000Z');

let database: TestDatabase;
let db: Db;
beforeEach(async () => {
  database = await createDatabase();
  db = database.db;
});
afterEach(() => database.drop());

/** The id of an order that `events` led through, with a way to pay chosen. */
async function orderAfter(...events: OrderEvent[]): Promise<string> {
  const history = await insertedOrder(db);
  const { id } = history.order;
  await choosePaymentTerm(db, id, 'PAY_LATER');
  if (events.length > 0) await saveHistory(db, go(history, ...events));
  return id;
}
const count = async () => (await db.query('select from application')).rowCount;

test('an application is kept as it was submitted, and only the first one', async () => {
  const id = await orderAfter('signup_started');
  expect(await findApplication(db, id)).toMatchObject({ paymentTerm: 'PAY_LATER', submitted: null, decision: null });
  const tries = await Promise.all(
    ['One Ltd', 'Two Ltd'].map((businessName) =>
      submitApplication(db, id, 'PAY_LATER', { ...APPLICANT, businessName }, 0),
    ),
  );
  expect(tries.sort()).toEqual([false, true]);
  const { submitted } = (await findApplication(db, id))!;
  expect(submitted!.applicant).toEqual({ ...APPLICANT, businessName: expect.stringMatching(/^(One|Two) Ltd$/) });
});

test('nothing is taken for an order that waits for none: not chosen, not begun, cancelled, gone on', async () => {
  const { order } = await insertedOrder(db);
  const ids = [
    order.id,
    await orderAfter(),
    await orderAfter('signup_started', 'cancel'),
    await orderAfter('signup_started', 'approved'),
  ];
  for (const id of ids) expect(await submitApplication(db, id, 'PAY_LATER', APPLICANT, 0)).toBe(false);
  expect((await db.query('select from application where email is not null')).rowCount).toBe(0);
});

test('how to pay can be chosen anew until the application is submitted', async () => {
  const id = await orderAfter('signup_started');
  await choosePaymentTerm(db, id, 'PAY_NOW');
  expect((await findApplication(db, id))!.paymentTerm).toBe('PAY_NOW');
  await submitApplication(db, id, 'PAY_NOW', APPLICANT, 0);
  await choosePaymentTerm(db, id, 'PAY_LATER');
  expect((await findApplication(db, id))!.paymentTerm).toBe('PAY_NOW');
});

test('the sweep takes up a submitted application until the order has moved on', async () => {
  const history = await insertedOrder(db);
  const { id } = history.order;
  await choosePaymentTerm(db, id, 'PAY_LATER');
  const pending = go(history, 'signup_started');
  await saveHistory(db, pending);
  expect(await isApplicationPending(db, id)).toBe(false);
  await submitApplication(db, id, 'PAY_LATER', APPLICANT, -1);
  expect(await leaseDueOrders(db, 10, 0)).toMatchObject([{ order: { id }, applicationPending: true }]);
  // A decision that was written down, but not saved with the order yet, is still to be asked for.
  await recordDecision(db, (await findApplication(db, id))!.id, { kind: 'declined', code: 'other' });
  expect(await isApplicationPending(db, id)).toBe(true);
  await saveHistory(db, go(pending, 'declined'));
  expect(await isApplicationPending(db, id)).toBe(false);
});

test.each<LenderDecision>([
  { kind: 'approved', offer: { instalments: [{ dueInMonths: 1, amountPence: 123_450 }], interestPence: 50 } },
  { kind: 'declined', code: 'affordability' },
  { kind: 'failed' },
])('the first decision stays: $kind', async (decision) => {
  const id = await orderAfter('signup_started');
  await submitApplication(db, id, 'PAY_LATER', APPLICANT, 0);
  const { id: applicationId } = (await findApplication(db, id))!;
  await recordReferral(db, applicationId);
  const referred = await findApplication(db, id);
  expect(referred!.referredAt).toBeInstanceOf(Date);
  await recordDecision(db, applicationId, decision);
  await recordDecision(db, applicationId, { kind: 'declined', code: 'credit_check' });
  await recordReferral(db, applicationId);
  expect(await findApplication(db, id)).toEqual({ ...referred, decision });
});

test('the sweep takes up an agreement until the order is completed or gone another way', async () => {
  const history = await insertedOrder(db);
  const { id } = history.order;
  await choosePaymentTerm(db, id, 'PAY_LATER');
  await recordAgreement(db, id, AGREED_AT, -1);
  expect((await findApplication(db, id))!.agreedAt).toBeNull();
  const approved = go(history, 'signup_started', 'approved');
  await saveHistory(db, approved);
  await recordAgreement(db, id, AGREED_AT, -1);
  expect((await findApplication(db, id))!.agreedAt).toEqual(AGREED_AT);
  expect(await leaseDueOrders(db, 10, 0)).toMatchObject([{ order: { id }, agreementPending: true }]);
  await recordAgreement(db, id, new Date(), -1);
  expect((await findApplication(db, id))!.agreedAt).toEqual(AGREED_AT);
  await saveHistory(db, go(approved, 'cancel'), -1);
  await db.query('update order_work set sweep_at = now()');
  expect(await leaseDueOrders(db, 10, 0)).toMatchObject([{ order: { id }, agreementPending: false }]);
});

test('what was agreed to is kept when what the customer told is deleted, once', async () => {
  const history = await insertedOrder(db);
  const { id } = history.order;
  await choosePaymentTerm(db, id, 'PAY_LATER');
  const pending = go(history, 'signup_started');
  await saveHistory(db, pending);
  await submitApplication(db, id, 'PAY_LATER', APPLICANT, 0);
  const decision = { kind: 'approved', offer: { instalments: [], interestPence: 7 } } as const;
  await recordDecision(db, (await findApplication(db, id))!.id, decision);
  const approved = go(pending, 'approved');
  await saveHistory(db, approved);
  await recordAgreement(db, id, AGREED_AT, 0);
  await saveHistory(db, go(approved, 'completed'));
  await db.query("update application set created_at = now() - interval '40 days'");
  await db.query("update order_timeline set at = now() - interval '31 days'");
  const before = await findApplication(db, id);
  expect(await purgeApplicantData(db, 30 * DAY_MS, 3)).toBe(1);
  expect(await findApplication(db, id)).toEqual({ ...before, submitted: null });
  const { rows } = await db.query(
    'select business_name, company_number, email, monthly_turnover_pence from application',
  );
  expect(rows).toEqual([{ business_name: null, company_number: null, email: null, monthly_turnover_pence: null }]);
  expect(await purgeApplicantData(db, 30 * DAY_MS, 3)).toBe(0);
});

test('applications are deleted once their orders have been closed for long enough, at most so many at once', async () => {
  const ends: OrderEvent[][] = [
    ['signup_started', 'approved', 'completed'],
    ['signup_started', 'declined'],
    ['cancel'],
    ['signup_started', 'declined', 'cancel'],
  ];
  for (const events of ends) await orderAfter(...events);
  const open = [await orderAfter(), await orderAfter('signup_started'), await orderAfter('signup_started', 'approved')];
  await db.query("update application set created_at = now() - interval '40 days'");
  await db.query("update order_timeline set at = now() - interval '31 days'");
  const closedLately = await orderAfter('signup_started', 'declined');
  await db.query("update application set created_at = now() - interval '40 days'");
  await db.query("update order_timeline set at = now() - interval '29 days' where order_id = $1", [closedLately]);
  expect(await purgeApplicantData(db, 30 * DAY_MS, 3)).toBe(3);
  expect(await purgeApplicantData(db, 30 * DAY_MS, 3)).toBe(1);
  expect(await purgeApplicantData(db, 30 * DAY_MS, 3)).toBe(0);
  const { rows } = await db.query<{ order_id: string }>('select order_id from application');
  expect(rows.map((row) => row.order_id).sort()).toEqual([...open, closedLately].sort());
  expect(await purgeApplicantData(db, 28 * DAY_MS, 3)).toBe(1);
  expect(await count()).toBe(3);
});

test.each([
  ['an agreement', ['signup_started', 'approved'], 'completed', (id: string) => recordAgreement(db, id, AGREED_AT, 0)],
  [
    'an application',
    ['signup_started'],
    'cancel',
    (id: string) => submitApplication(db, id, 'PAY_LATER', APPLICANT, 0),
  ],
] as const)(
  '%s that waits for the change that closes the order leaves it to no sweep',
  async (_, events, end, record) => {
    const history = await insertedOrder(db);
    const { id } = history.order;
    await choosePaymentTerm(db, id, 'PAY_LATER');
    const open = go(history, ...events);
    await saveHistory(db, open);
    let recording: Promise<unknown> | undefined;
    await inTransaction(db, async (client) => {
      await client.query('select from order_work where order_id = $1 for update', [id]);
      recording = record(id);
      await until(async () => (await statementsWaiting(db, 'update order_work set sweep_at')) === 1, 'it waits');
      const status = end === 'completed' ? 'SUCCESSFUL' : 'UNSUCCESSFUL';
      await client.query('update orders set status = $2 where id = $1', [id, status]);
      await client.query('delete from order_work where order_id = $1', [id]);
    });
    await recording;
    expect(await sweptIn(db, id)).toBeNull();
  },
);
