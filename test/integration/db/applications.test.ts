import {
  findApplication,
  purgeApplicantData,
  recordAgreement,
  recordDecision,
  recordReferral,
  storeApplication,
  upsertPaymentTerm,
} from '../../../src/db/applications';
import { findLastPayment, insertPayment, recordPaymentStatus } from '../../../src/db/payments';
import { leaseDueOrders } from '../../../src/db/due-orders';
import { isDecisionPending } from '../../../src/db/order-work';
import type { LenderDecision } from '../../../src/domain/application';
import type { OrderEvent } from '../../../src/domain/status';
import { holdTransaction, statementsWaiting, useDatabase } from '../../support/database';
import { until } from '../../support/until';
import { insertNewOrder, isInSweep, saveHistory } from '../../support/new-orders';
import { applyEvents } from '../../support/order-histories';

const APPLICANT = {
  businessName: 'Bloggs Ltd',
  companyNumber: '01234567',
  email: 'jo@bloggs.example',
  monthlyTurnoverPence: 1_250_050,
};
/** The digest of the browser that applies. */
const BROWSER = Buffer.alloc(32, 1);
const DAY_MS = 86_400_000;
const AGREED_AT = new Date('2027-01-15T12:00:00.000Z');

const database = useDatabase('test');

/** Inserts an order with a chosen payment term, applies events, and returns its id. */
async function orderAfter(...events: OrderEvent[]): Promise<string> {
  const history = await insertNewOrder(database.db);
  const { id } = history.order;
  await upsertPaymentTerm(database.db, id, 'PAY_LATER');
  if (events.length > 0) await saveHistory(database.db, applyEvents(history, ...events));
  return id;
}
const setBrowser = (id: string) =>
  database.db.query('update application set browser_digest = $2 where order_id = $1', [id, BROWSER]);
const countApplications = async () => (await database.db.query('select from application')).rowCount;

test('the first application that is submitted is stored, and a second one is refused', async () => {
  const id = await orderAfter('signup_started');
  expect(await findApplication(database.db, id)).toMatchObject({
    paymentTerm: 'PAY_LATER',
    submitted: null,
    decision: null,
  });
  const results = await Promise.all(
    ['One Ltd', 'Two Ltd'].map((businessName) =>
      storeApplication(database.db, id, {
        applicant: { ...APPLICANT, businessName },
        browserDigest: BROWSER,
        sweepAfterMs: 0,
      }),
    ),
  );
  expect(results.sort()).toEqual([false, true]);
  const { submitted } = (await findApplication(database.db, id))!;
  expect(submitted!.applicant).toEqual({ ...APPLICANT, businessName: expect.stringMatching(/^(One|Two) Ltd$/) });
});

test('an application is refused without a payment term, before the signup, after a cancel and after a decision', async () => {
  const { order } = await insertNewOrder(database.db);
  const ids = [
    order.id,
    await orderAfter(),
    await orderAfter('signup_started', 'cancel'),
    await orderAfter('signup_started', 'approved'),
  ];
  for (const id of ids) {
    expect(
      await storeApplication(database.db, id, { applicant: APPLICANT, browserDigest: BROWSER, sweepAfterMs: 0 }),
    ).toBe(false);
  }
  expect((await database.db.query('select from application where email is not null')).rowCount).toBe(0);
});

test('the payment term can be changed until the application is submitted', async () => {
  const id = await orderAfter('signup_started');
  await upsertPaymentTerm(database.db, id, 'PAY_NOW');
  expect((await findApplication(database.db, id))!.paymentTerm).toBe('PAY_NOW');
  const application = { applicant: APPLICANT, browserDigest: BROWSER, sweepAfterMs: 0 };
  expect(await storeApplication(database.db, id, application)).toBe(false);
  await upsertPaymentTerm(database.db, id, 'PAY_LATER');
  expect(await storeApplication(database.db, id, application)).toBe(true);
  await upsertPaymentTerm(database.db, id, 'PAY_NOW');
  expect((await findApplication(database.db, id))!.paymentTerm).toBe('PAY_LATER');
});

test("an application is pending for the sweep until the lender's decision is saved with the order", async () => {
  const history = await insertNewOrder(database.db);
  const { id } = history.order;
  await upsertPaymentTerm(database.db, id, 'PAY_LATER');
  const pending = applyEvents(history, 'signup_started');
  await saveHistory(database.db, pending);
  expect(await isDecisionPending(database.db, id)).toBe(false);
  await storeApplication(database.db, id, { applicant: APPLICANT, browserDigest: BROWSER, sweepAfterMs: -1 });
  expect(await leaseDueOrders(database.db, 'requests', 10, 0)).toMatchObject([
    { order: { id }, decisionPending: true },
  ]);
  // The decision is recorded, but not saved with the order yet.
  await recordDecision(database.db, (await findApplication(database.db, id))!.id, { kind: 'declined', code: 'other' });
  expect(await isDecisionPending(database.db, id)).toBe(true);
  await saveHistory(database.db, applyEvents(pending, 'declined'));
  expect(await isDecisionPending(database.db, id)).toBe(false);
});

test('an application of an APPROVED order is pending while its decision is missing, as after a restore, and not purged', async () => {
  const history = await insertNewOrder(database.db);
  const { id } = history.order;
  const pending = applyEvents(history, 'signup_started');
  await saveHistory(database.db, pending);
  await upsertPaymentTerm(database.db, id, 'PAY_LATER');
  await storeApplication(database.db, id, { applicant: APPLICANT, browserDigest: BROWSER, sweepAfterMs: 0 });
  await saveHistory(database.db, applyEvents(pending, 'approved'));
  expect(await isDecisionPending(database.db, id)).toBe(true);
  await database.db.query(
    `update application set purged_at = now(), business_name = null, company_number = null, email = null,
       monthly_turnover_pence = null`,
  );
  expect(await isDecisionPending(database.db, id)).toBe(false);
});

test.each<LenderDecision>([
  { kind: 'approved', offer: { instalments: [{ dueInMonths: 1, amountPence: 123_450 }] } },
  { kind: 'declined', code: 'affordability' },
  { kind: 'failed' },
])('the first decision is kept if another one follows: $kind', async (decision) => {
  const id = await orderAfter('signup_started');
  await storeApplication(database.db, id, { applicant: APPLICANT, browserDigest: BROWSER, sweepAfterMs: 0 });
  const { id: applicationId } = (await findApplication(database.db, id))!;
  await recordReferral(database.db, applicationId);
  const referred = await findApplication(database.db, id);
  expect(referred!.referredAt).toBeInstanceOf(Date);
  await recordDecision(database.db, applicationId, decision);
  await recordDecision(database.db, applicationId, { kind: 'declined', code: 'credit_check' });
  await recordReferral(database.db, applicationId);
  expect(await findApplication(database.db, id)).toEqual({ ...referred, decision });
});

test('an agreement is pending for the sweep until the order is completed or cancelled', async () => {
  const history = await insertNewOrder(database.db);
  const { id } = history.order;
  await upsertPaymentTerm(database.db, id, 'PAY_LATER');
  await setBrowser(id);
  expect(await recordAgreement(database.db, id, [BROWSER], AGREED_AT, -1)).toBe(false);
  expect((await findApplication(database.db, id))!.agreedAt).toBeNull();
  const approved = applyEvents(history, 'signup_started', 'approved');
  await saveHistory(database.db, approved);
  await recordAgreement(database.db, id, [BROWSER], AGREED_AT, -1);
  expect((await findApplication(database.db, id))!.agreedAt).toEqual(AGREED_AT);
  expect(await leaseDueOrders(database.db, 'requests', 10, 0)).toMatchObject([
    { order: { id }, agreementPending: true },
  ]);
  await recordAgreement(database.db, id, [BROWSER], new Date(), -1);
  expect((await findApplication(database.db, id))!.agreedAt).toEqual(AGREED_AT);
  await saveHistory(database.db, applyEvents(approved, 'cancel'), -1);
  await database.db.query('update order_work set sweep_at = now()');
  expect(await leaseDueOrders(database.db, 'requests', 10, 0)).toMatchObject([
    { order: { id }, agreementPending: false },
  ]);
});

test('a purge deletes the data of an applicant once and keeps the agreement', async () => {
  const history = await insertNewOrder(database.db);
  const { id } = history.order;
  await upsertPaymentTerm(database.db, id, 'PAY_LATER');
  const pending = applyEvents(history, 'signup_started');
  await saveHistory(database.db, pending);
  await storeApplication(database.db, id, { applicant: APPLICANT, browserDigest: BROWSER, sweepAfterMs: 0 });
  const decision = { kind: 'approved', offer: { instalments: [{ dueInMonths: 1, amountPence: 7 }] } } as const;
  await recordDecision(database.db, (await findApplication(database.db, id))!.id, decision);
  const approved = applyEvents(pending, 'approved');
  await saveHistory(database.db, approved);
  await recordAgreement(database.db, id, [BROWSER], AGREED_AT, 0);
  await saveHistory(database.db, applyEvents(approved, 'completed'));
  await database.db.query("update application set created_at = now() - interval '40 days'");
  await database.db.query("update order_timeline set at = now() - interval '31 days'");
  const before = await findApplication(database.db, id);
  expect(await purgeApplicantData(database.db, 30 * DAY_MS, 3)).toBe(1);
  expect(await findApplication(database.db, id)).toEqual({ ...before, submitted: null });
  const { rows } = await database.db.query(
    'select business_name, company_number, email, monthly_turnover_pence from application',
  );
  expect(rows).toEqual([{ business_name: null, company_number: null, email: null, monthly_turnover_pence: null }]);
  expect(await purgeApplicantData(database.db, 30 * DAY_MS, 3)).toBe(0);
});

test('a purge deletes at most `limit` applications whose orders closed or were abandoned before the retention', async () => {
  const ends: OrderEvent[][] = [
    ['signup_started', 'approved', 'completed'],
    ['signup_started', 'declined'],
    ['cancel'],
    ['signup_started', 'declined', 'cancel'],
  ];
  for (const events of ends) await orderAfter(...events);
  const open = [await orderAfter(), await orderAfter('signup_started'), await orderAfter('signup_started', 'approved')];
  await database.db.query("update application set created_at = now() - interval '40 days'");
  await database.db.query("update order_timeline set at = now() - interval '31 days'");
  const closedRecently = await orderAfter('signup_started', 'declined');
  await database.db.query("update application set created_at = now() - interval '40 days'");
  await database.db.query("update order_timeline set at = now() - interval '29 days' where order_id = $1", [
    closedRecently,
  ]);
  expect(await purgeApplicantData(database.db, 30 * DAY_MS, 3)).toBe(3);
  expect(await purgeApplicantData(database.db, 30 * DAY_MS, 3)).toBe(3);
  expect(await purgeApplicantData(database.db, 30 * DAY_MS, 3)).toBe(1);
  expect(await purgeApplicantData(database.db, 30 * DAY_MS, 3)).toBe(0);
  // The customer of the APPROVED order can still accept the offer.
  const { rows } = await database.db.query<{ order_id: string }>('select order_id from application');
  expect(rows.map((row) => row.order_id).sort()).toEqual([open[2]!, closedRecently].sort());
  expect(await purgeApplicantData(database.db, 28 * DAY_MS, 3)).toBe(1);
  expect(await countApplications()).toBe(1);
});

test.each<[string, (id: string) => Promise<unknown>]>([
  [
    'while the lender decides',
    (id) => storeApplication(database.db, id, { applicant: APPLICANT, browserDigest: BROWSER, sweepAfterMs: 0 }),
  ],
  [
    'after a recent decision',
    async (id) => {
      await storeApplication(database.db, id, { applicant: APPLICANT, browserDigest: BROWSER, sweepAfterMs: 0 });
      const { id: applicationId } = (await findApplication(database.db, id))!;
      await recordDecision(database.db, applicationId, { kind: 'declined', code: 'other' });
    },
  ],
  [
    'while a payment is in progress',
    (id) => insertPayment(database.db, id, 'oak', { browserDigest: BROWSER, ownDigests: [] }, 0),
  ],
])('a purge keeps the application of an old order %s', async (_, apply) => {
  const id = await orderAfter('signup_started');
  await database.db.query("update application set created_at = now() - interval '40 days'");
  await database.db.query("update order_timeline set at = now() - interval '31 days'");
  await apply(id);
  expect(await purgeApplicantData(database.db, 30 * DAY_MS, 3)).toBe(0);
  expect(await findApplication(database.db, id)).toMatchObject({ browserDigest: BROWSER });
});

test('a purge deletes the application of a customer who left after a decline, or after a payment that is over', async () => {
  const declined = await orderAfter('signup_started');
  await storeApplication(database.db, declined, { applicant: APPLICANT, browserDigest: BROWSER, sweepAfterMs: 0 });
  const { id: applicationId } = (await findApplication(database.db, declined))!;
  await recordDecision(database.db, applicationId, { kind: 'declined', code: 'other' });
  const unpaid = await orderAfter('signup_started');
  await insertPayment(database.db, unpaid, 'oak', { browserDigest: BROWSER, ownDigests: [] }, 0);
  await recordPaymentStatus(database.db, (await findLastPayment(database.db, unpaid))!.id, 'cancelled', 0);
  await database.db.query(
    "update application set created_at = now() - interval '40 days', decided_at = decided_at - interval '31 days'",
  );
  await database.db.query("update order_timeline set at = now() - interval '31 days'");
  expect(await purgeApplicantData(database.db, 30 * DAY_MS, 3)).toBe(2);
  expect(await countApplications()).toBe(0);
});

test.each([
  [
    'an agreement',
    ['signup_started', 'approved'],
    'completed',
    (id: string) => recordAgreement(database.db, id, [BROWSER], AGREED_AT, 0),
  ],
  [
    'an application',
    ['signup_started'],
    'cancel',
    (id: string) =>
      storeApplication(database.db, id, { applicant: APPLICANT, browserDigest: BROWSER, sweepAfterMs: 0 }),
  ],
] as const)('%s that is recorded while the order closes adds no work for the sweep', async (_, events, end, record) => {
  const history = await insertNewOrder(database.db);
  const { id } = history.order;
  await upsertPaymentTerm(database.db, id, 'PAY_LATER');
  await setBrowser(id);
  const open = applyEvents(history, ...events);
  await saveHistory(database.db, open);
  const status = end === 'completed' ? 'SUCCESSFUL' : 'UNSUCCESSFUL';
  const closing = await holdTransaction(
    database.db,
    `with closed as (update orders set status = $2 where id = $1)
       delete from order_work where order_id = $1`,
    [id, status],
  );
  const recording = record(id);
  await until(
    async () => (await statementsWaiting(database.db, 'update order_work set sweep_at')) === 1,
    'the statement waits for the lock',
  );
  await closing.commit();
  await recording;
  expect(await isInSweep(database.db, id)).toBe(false);
});
