import {
  findApplication,
  recordAgreement,
  recordAction,
  recordDecision,
  recordReturn,
  recordReferral,
  storeApplication,
  upsertPaymentTerm,
} from '../../../../src/checkout/db/applications';
import { oldCheckoutDataOf } from '../../../../src/checkout/db/old-checkout-data';
import {
  findLastPayment,
  findUnfinishedCheckouts,
  insertPayment,
  recordPaymentStatus,
} from '../../../../src/checkout/db/payments';
import { closeApplications } from '../../../../src/checkout/db/mails';
import type { LenderDecision } from '../../../../src/checkout/domain/application';
import { deleteOldData } from '../../../../src/db/old-data';
import type { OrderEvent, PaymentTerm } from '../../../../src/domain/order';
import { useDatabase } from '../../../support/database';
import { insertNewOrder, saveChanges } from '../../../support/new-orders';
import { applyEvents } from '../../../support/domain-orders';
import { queryPlan } from '../../../support/query-plan';

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

/** Customers of sandbox and live accounts can pay now. */
const PAY_NOW = { sandbox: true, live: true };

const database = useDatabase('test');

/** Inserts an order with a chosen payment term, applies events, and returns its id. */
async function orderAfter(...events: OrderEvent[]): Promise<string> {
  const order = await insertNewOrder(database.db);
  const { id } = order;
  await upsertPaymentTerm(database.db, id, 'PAY_LATER');
  if (events.length > 0) await saveChanges(database.db, applyEvents(order, ...events));
  return id;
}
const setBrowser = (id: string) =>
  database.db.query('update application set browser_digest = $2 where order_id = $1', [id, BROWSER]);
/** Deletes old personal data. */
const purge = async (retentionMs: number, limit: number): Promise<number> => {
  const kinds = oldCheckoutDataOf({ applicationRetentionMs: retentionMs, sandboxDays: 30 });
  return (
    await deleteOldData(
      database.db,
      kinds.find(({ name }) => name === 'applications')!,
      limit,
    )
  ).deleted;
};
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
      }),
    ),
  );
  expect(results.sort()).toEqual([false, true]);
  const { submitted } = (await findApplication(database.db, id))!;
  expect(submitted!.applicant).toEqual({ ...APPLICANT, businessName: expect.stringMatching(/^(One|Two) Ltd$/) });
});

test('an application is refused without a payment term, before the signup, after a cancel and after a decision', async () => {
  const order = await insertNewOrder(database.db);
  const ids = [
    order.id,
    await orderAfter(),
    await orderAfter('signup_started', 'cancel'),
    await orderAfter('signup_started', 'approved'),
  ];
  for (const id of ids) {
    expect(await storeApplication(database.db, id, { applicant: APPLICANT, browserDigest: BROWSER })).toBe(false);
  }
  expect((await database.db.query('select from application where email is not null')).rowCount).toBe(0);
});

test('the payment term can be changed until the application is submitted', async () => {
  const id = await orderAfter('signup_started');
  await upsertPaymentTerm(database.db, id, 'PAY_NOW');
  expect((await findApplication(database.db, id))!.paymentTerm).toBe('PAY_NOW');
  const application = { applicant: APPLICANT, browserDigest: BROWSER };
  expect(await storeApplication(database.db, id, application)).toBe(false);
  await upsertPaymentTerm(database.db, id, 'PAY_LATER');
  expect(await storeApplication(database.db, id, application)).toBe(true);
  await upsertPaymentTerm(database.db, id, 'PAY_NOW');
  expect((await findApplication(database.db, id))!.paymentTerm).toBe('PAY_LATER');
});

/** Lets some time pass for the checkouts of all orders, and returns the orders that have something left to do. */
async function unfinished(): Promise<string[]> {
  await database.db.query(
    `update application set submitted_at = submitted_at - interval '2 minutes',
       decided_at = decided_at - interval '2 minutes', agreed_at = agreed_at - interval '2 minutes'`,
  );
  return (await findUnfinishedCheckouts(database.db, 10, PAY_NOW)).map(({ id }) => id);
}

test('a checkout is unfinished from the application until the order shows the decision, but not at once', async () => {
  const order = await insertNewOrder(database.db);
  const { id } = order;
  await upsertPaymentTerm(database.db, id, 'PAY_LATER');
  const pending = applyEvents(order, 'signup_started');
  await saveChanges(database.db, pending);
  expect(await unfinished()).toEqual([]);
  await storeApplication(database.db, id, { applicant: APPLICANT, browserDigest: BROWSER });
  expect(await findUnfinishedCheckouts(database.db, 10, PAY_NOW)).toEqual([]);
  expect(await unfinished()).toEqual([id]);
  // The decision is recorded, but the order does not show it yet.
  const decision = { kind: 'approved', offer: { instalments: [] } } as const;
  await recordDecision(database.db, (await findApplication(database.db, id))!.id, decision);
  expect(await unfinished()).toEqual([id]);
  await saveChanges(database.db, applyEvents(pending, 'approved'));
  expect(await unfinished()).toEqual([]);
});

test.each<[LenderDecision, readonly PaymentTerm[], boolean]>([
  [{ kind: 'failed' }, ['PAY_LATER'], false],
  [{ kind: 'declined', code: 'other' }, ['PAY_LATER', 'PAY_NOW'], false],
  [{ kind: 'declined', code: 'other' }, ['PAY_LATER'], true],
])(
  'after %j of an order with %j, the checkout is unfinished: %s',
  async (decision, allowedPaymentTerms, isUnfinished) => {
    const order = await insertNewOrder(database.db, { allowedPaymentTerms });
    const { id } = order;
    await saveChanges(database.db, applyEvents(order, 'signup_started'));
    await upsertPaymentTerm(database.db, id, 'PAY_LATER');
    await storeApplication(database.db, id, { applicant: APPLICANT, browserDigest: BROWSER });
    await recordDecision(database.db, (await findApplication(database.db, id))!.id, decision);
    expect(await unfinished()).toEqual(isUnfinished ? [id] : []);
  },
);

test('after a decline of an order that allows Pay now, the checkout is unfinished if its account has no bank', async () => {
  const order = await insertNewOrder(database.db);
  await saveChanges(database.db, applyEvents(order, 'signup_started'));
  await upsertPaymentTerm(database.db, order.id, 'PAY_LATER');
  await storeApplication(database.db, order.id, { applicant: APPLICANT, browserDigest: BROWSER });
  const { id } = (await findApplication(database.db, order.id))!;
  await recordDecision(database.db, id, { kind: 'declined', code: 'other' });
  expect(await unfinished()).toEqual([]);
  expect(await findUnfinishedCheckouts(database.db, 10, { sandbox: true, live: false })).toMatchObject([
    { id: order.id },
  ]);
});

test('an action that the lender asked for before the customer came back is not shown again', async () => {
  const order = await insertNewOrder(database.db);
  await saveChanges(database.db, applyEvents(order, 'signup_started'));
  await upsertPaymentTerm(database.db, order.id, 'PAY_LATER');
  await storeApplication(database.db, order.id, { applicant: APPLICANT, browserDigest: BROWSER });
  const application = () => findApplication(database.db, order.id).then((found) => found!);
  const { id } = await application();
  await recordAction(database.db, id, 'https://lender.example/1', null);
  expect(await recordReturn(database.db, order.id)).toBe(true);
  // Another worker's call, or one that was repeated.
  await recordAction(database.db, id, 'https://lender.example/1', null);
  expect((await application()).actionUrl).toBeNull();
  await recordAction(database.db, id, 'https://lender.example/2', (await application()).returnedAt);
  expect((await application()).actionUrl).toBe('https://lender.example/2');
});

test('the checkout of an APPROVED order is unfinished while its decision is missing, as after a restore, unless purged', async () => {
  const order = await insertNewOrder(database.db);
  const { id } = order;
  const pending = applyEvents(order, 'signup_started');
  await saveChanges(database.db, pending);
  await upsertPaymentTerm(database.db, id, 'PAY_LATER');
  await storeApplication(database.db, id, { applicant: APPLICANT, browserDigest: BROWSER });
  await saveChanges(database.db, applyEvents(pending, 'approved'));
  expect(await unfinished()).toEqual([id]);
  await database.db.query(
    `update application set purged_at = now(), business_name = null, company_number = null, email = null,
       monthly_turnover_pence = null`,
  );
  expect(await unfinished()).toEqual([]);
});

test.each<LenderDecision>([
  { kind: 'approved', offer: { instalments: [{ dueInMonths: 1, amountPence: 123_450 }] } },
  { kind: 'declined', code: 'affordability' },
  { kind: 'failed' },
])('the first decision is kept if another one follows: $kind', async (decision) => {
  const id = await orderAfter('signup_started');
  await storeApplication(database.db, id, { applicant: APPLICANT, browserDigest: BROWSER });
  const { id: applicationId } = (await findApplication(database.db, id))!;
  await recordReferral(database.db, applicationId);
  const referred = await findApplication(database.db, id);
  expect(referred!.referredAt).toBeInstanceOf(Date);
  await recordDecision(database.db, applicationId, decision);
  await recordDecision(database.db, applicationId, { kind: 'declined', code: 'credit_check' });
  await recordReferral(database.db, applicationId);
  expect(await findApplication(database.db, id)).toEqual({ ...referred, decision, decidedAt: expect.any(Date) });
});

test('the first agreement of an APPROVED order counts, and its checkout is unfinished until the order closes', async () => {
  const order = await insertNewOrder(database.db);
  const { id } = order;
  await upsertPaymentTerm(database.db, id, 'PAY_LATER');
  await setBrowser(id);
  expect(await recordAgreement(database.db, id, [BROWSER], AGREED_AT)).toBe(false);
  expect((await findApplication(database.db, id))!.agreedAt).toBeNull();
  const approved = applyEvents(order, 'signup_started', 'approved');
  await saveChanges(database.db, approved);
  expect(await unfinished()).toEqual([]);
  const agreedAt = new Date();
  expect(await recordAgreement(database.db, id, [BROWSER], agreedAt)).toBe(true);
  await recordAgreement(database.db, id, [BROWSER], AGREED_AT);
  expect((await findApplication(database.db, id))!.agreedAt).toEqual(agreedAt);
  expect(await unfinished()).toEqual([id]);
  await saveChanges(database.db, applyEvents(approved, 'cancel'));
  expect(await unfinished()).toEqual([]);
});

test('a purge deletes the data of an applicant once and keeps the agreement', async () => {
  const order = await insertNewOrder(database.db);
  const { id } = order;
  await upsertPaymentTerm(database.db, id, 'PAY_LATER');
  const pending = applyEvents(order, 'signup_started');
  await saveChanges(database.db, pending);
  await storeApplication(database.db, id, { applicant: APPLICANT, browserDigest: BROWSER });
  const decision = { kind: 'approved', offer: { instalments: [{ dueInMonths: 1, amountPence: 7 }] } } as const;
  await recordDecision(database.db, (await findApplication(database.db, id))!.id, decision);
  const approved = applyEvents(pending, 'approved');
  await saveChanges(database.db, approved);
  await recordAgreement(database.db, id, [BROWSER], AGREED_AT);
  await saveChanges(database.db, applyEvents(approved, 'completed'));
  await database.db.query("update application set created_at = now() - interval '40 days'");
  await database.db.query("update order_timeline set at = now() - interval '31 days'");
  const before = await findApplication(database.db, id);
  expect(await purge(30 * DAY_MS, 3)).toBe(1);
  expect(await findApplication(database.db, id)).toEqual({ ...before, submitted: null });
  const { rows } = await database.db.query(
    'select business_name, company_number, email, monthly_turnover_pence from application',
  );
  expect(rows).toEqual([{ business_name: null, company_number: null, email: null, monthly_turnover_pence: null }]);
  expect(await purge(30 * DAY_MS, 3)).toBe(0);
});

test('a payment is no agreement, and a purge keeps who may see its receipt', async () => {
  const { db } = database;
  const order = await insertNewOrder(db);
  const { id } = order;
  const pending = applyEvents(order, 'signup_started');
  await saveChanges(db, pending);
  await upsertPaymentTerm(db, id, 'PAY_NOW');
  await insertPayment(db, id, 'oak', { browserDigest: BROWSER, ownDigests: [] });
  await recordPaymentStatus(db, (await findLastPayment(db, id))!.id, 'paid');
  expect(await findApplication(db, id)).toMatchObject({ agreedAt: null, browserDigest: BROWSER });
  await saveChanges(db, applyEvents(pending, 'approved', 'completed'));
  await db.query("update application set created_at = now() - interval '40 days'");
  await db.query("update order_timeline set at = now() - interval '31 days'");
  expect(await purge(30 * DAY_MS, 3)).toBe(1);
  expect(await findApplication(db, id)).toMatchObject({ agreedAt: null, browserDigest: BROWSER });
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
  expect(await purge(30 * DAY_MS, 3)).toBe(3);
  expect(await purge(30 * DAY_MS, 3)).toBe(3);
  expect(await purge(30 * DAY_MS, 3)).toBe(1);
  expect(await purge(30 * DAY_MS, 3)).toBe(0);
  // The customer of the APPROVED order can still accept the offer.
  const { rows } = await database.db.query<{ order_id: string }>('select order_id from application');
  expect(rows.map((row) => row.order_id).sort()).toEqual([open[2]!, closedRecently].sort());
  expect(await purge(28 * DAY_MS, 3)).toBe(1);
  expect(await countApplications()).toBe(1);
});

test.each<[string, (id: string) => Promise<unknown>]>([
  [
    'while the lender decides',
    (id) => storeApplication(database.db, id, { applicant: APPLICANT, browserDigest: BROWSER }),
  ],
  [
    'after a recent decision',
    async (id) => {
      await storeApplication(database.db, id, { applicant: APPLICANT, browserDigest: BROWSER });
      const { id: applicationId } = (await findApplication(database.db, id))!;
      await recordDecision(database.db, applicationId, { kind: 'declined', code: 'other' });
    },
  ],
  [
    'while a payment is in progress',
    (id) => insertPayment(database.db, id, 'oak', { browserDigest: BROWSER, ownDigests: [] }),
  ],
])('a purge keeps the application of an old order %s', async (_, apply) => {
  const id = await orderAfter('signup_started');
  await database.db.query("update application set created_at = now() - interval '40 days'");
  await database.db.query("update order_timeline set at = now() - interval '31 days'");
  await apply(id);
  expect(await purge(30 * DAY_MS, 3)).toBe(0);
  expect(await findApplication(database.db, id)).toMatchObject({ browserDigest: BROWSER });
});

test('a purge deletes the application of a customer who left after a decline, or after a payment that is over', async () => {
  const declined = await orderAfter('signup_started');
  await storeApplication(database.db, declined, { applicant: APPLICANT, browserDigest: BROWSER });
  const { id: applicationId } = (await findApplication(database.db, declined))!;
  await recordDecision(database.db, applicationId, { kind: 'declined', code: 'other' });
  const unpaid = await orderAfter('signup_started');
  await insertPayment(database.db, unpaid, 'oak', { browserDigest: BROWSER, ownDigests: [] });
  await recordPaymentStatus(database.db, (await findLastPayment(database.db, unpaid))!.id, 'cancelled');
  await database.db.query(
    "update application set created_at = now() - interval '40 days', decided_at = decided_at - interval '31 days'",
  );
  await database.db.query("update order_timeline set at = now() - interval '31 days'");
  expect(await purge(30 * DAY_MS, 3)).toBe(2);
  expect(await countApplications()).toBe(0);
});

test('unfinished checkouts are found by small indexes, whatever the number of closed orders', async () => {
  const { db } = database;
  const order = await insertNewOrder(db);
  // Copies of one closed order.
  await db.query(
    `with copy as (
       insert into orders (id, seller_id, seller_name, amount_pence, reference, allowed_payment_terms, redirect_url,
         pay_link_id, pricing, version, status)
       select gen_random_uuid(), seller_id, seller_name, amount_pence, n::text, allowed_payment_terms, redirect_url,
         gen_random_uuid(), pricing, 2, 'UNSUCCESSFUL'
       from orders, generate_series(1, 20000) n where id = $1 returning id
     ) insert into application (order_id, payment_term) select id, 'PAY_LATER' from copy`,
    [order.id],
  );
  await closeApplications(db, { sandbox: true, live: true });
  await db.query('analyze application, orders');
  const plan = await queryPlan(db, (explaining) => findUnfinishedCheckouts(explaining, 500, PAY_NOW));
  expect(plan).toMatch(/application_open/);
  expect(plan).not.toMatch(/Seq Scan on (application|orders)/);
});
