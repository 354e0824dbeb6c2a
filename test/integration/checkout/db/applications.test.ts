import { randomUUID } from 'node:crypto';
import {
  findApplicant,
  recordAction,
  recordAgreement,
  recordDecision,
  recordReferral,
  recordReturn,
  storeApplication,
  upsertPaymentTerm,
} from '../../../../src/checkout/db/applications';
import { closeApplications, findOrdersToMail } from '../../../../src/checkout/db/mails';
import { oldCheckoutDataOf } from '../../../../src/checkout/db/old-checkout-data';
import {
  findLastPayment,
  findUnfinishedCheckouts,
  insertPayment,
  recordPaymentStatus,
} from '../../../../src/checkout/db/payments';
import type { LenderDecision } from '../../../../src/checkout/domain/application';
import { deleteOldData } from '../../../../src/db/old-data';
import type { OrderEvent, PaymentTerm } from '../../../../src/domain/order';
import { useDatabase } from '../../../support/database';
import { BROWSER, newCheckout } from '../../../support/new-applications';
import { insertNewOrder } from '../../../support/new-orders';
import { APPLICANT } from '../../../support/provider-details';
import { queryPlan } from '../../../support/query-plan';

const OTHER = Buffer.alloc(32, 2);
const DAY_MS = 86_400_000;
const AGREED_AT = new Date('2027-01-15T12:00:00.000Z');
const DECLINED = { kind: 'declined', code: 'other' } as const;
const BY_BROWSER = { browserDigest: BROWSER, ownDigests: [] };

/** Customers of sandbox and live accounts can pay now. */
const PAY_NOW = { sandbox: true, live: true };

const database = useDatabase('test');

const checkoutAfter = (...events: OrderEvent[]) => newCheckout(database.db, { events });
/** Deletes old personal data. */
const purge = async (retentionMs: number, limit: number): Promise<number> => {
  const kinds = oldCheckoutDataOf({ applicationRetentionMs: retentionMs, sandboxDays: 30 });
  const applications = kinds.find(({ name }) => name === 'applications')!;
  return (await deleteOldData(database.db, applications, limit)).deleted;
};
/** Makes all applications 40 days old, and all changes 31 days. */
const age = async (): Promise<void> => {
  await database.db.query("update application set created_at = now() - interval '40 days'");
  await database.db.query("update order_timeline set at = now() - interval '31 days'");
};

test('of two applications at the same time, one is stored, and belongs to its browser', async () => {
  const { application, submit } = await checkoutAfter('signup_started');
  expect(await application()).toMatchObject({ paymentTerm: 'PAY_LATER', submitted: null, decision: null });
  const forms = [
    { applicant: { ...APPLICANT, businessName: 'One Ltd' }, browserDigest: BROWSER },
    { applicant: { ...APPLICANT, businessName: 'Two Ltd' }, browserDigest: OTHER },
  ];
  const results = await Promise.all(forms.map(submit));
  expect([...results].sort()).toEqual([false, true]);
  const { applicant, browserDigest } = forms[results.indexOf(true)]!;
  expect(await application()).toMatchObject({ submitted: { applicant }, browserDigest });
});

test('the applicant of a pay link is the browser of its application, if there is one', async () => {
  const { db } = database;
  const { id, submit } = await checkoutAfter('signup_started');
  const { id: other } = await checkoutAfter('signup_started');
  await submit();
  const { rows } = await db.query<{ link: string }>(
    'select pay_link_id as link from orders where id = any($1) order by id = $2 desc',
    [[id, other], id],
  );
  expect(await findApplicant(db, rows[0]!.link)).toMatchObject({ orderId: id, browserDigest: BROWSER });
  expect(await findApplicant(db, rows[1]!.link)).toBeUndefined();
  expect(await findApplicant(db, randomUUID())).toBeUndefined();
});

test('an application is refused without a payment term, before the signup, after a cancel and after a decision', async () => {
  const { db } = database;
  const ends: OrderEvent[][] = [[], ['signup_started', 'cancel'], ['signup_started', 'approved']];
  const { id: without } = await insertNewOrder(db);
  expect(await storeApplication(db, without, { applicant: APPLICANT, browserDigest: BROWSER })).toBe(false);
  for (const events of ends) expect(await (await checkoutAfter(...events)).submit()).toBe(false);
  expect((await db.query('select from application where email is not null')).rowCount).toBe(0);
});

test('the payment term can be changed until the application is submitted', async () => {
  const { id, application, submit } = await checkoutAfter('signup_started');
  const change = (term: PaymentTerm) => upsertPaymentTerm(database.db, id, term);
  await change('PAY_NOW');
  expect((await application()).paymentTerm).toBe('PAY_NOW');
  expect(await submit()).toBe(false);
  await change('PAY_LATER');
  expect(await submit()).toBe(true);
  await change('PAY_NOW');
  expect((await application()).paymentTerm).toBe('PAY_LATER');
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
  const { id, change, submit, decide } = await checkoutAfter('signup_started');
  expect(await unfinished()).toEqual([]);
  await submit();
  expect(await findUnfinishedCheckouts(database.db, 10, PAY_NOW)).toEqual([]);
  expect(await unfinished()).toEqual([id]);
  // The decision is recorded, but the order does not show it yet.
  await decide({ kind: 'approved', offer: { instalments: [] } });
  expect(await unfinished()).toEqual([id]);
  await change('approved');
  expect(await unfinished()).toEqual([]);
});

test('a checkout is unfinished after an agreement, also to an offer whose personal data is deleted, until the order shows it', async () => {
  const { db } = database;
  const { id, change, submit, decide } = await checkoutAfter('signup_started');
  await submit();
  await decide({ kind: 'approved', offer: { instalments: [{ dueInMonths: 1, amountPence: 1 }] } });
  await change('approved');
  await age();
  expect(await purge(30 * DAY_MS, 3)).toBe(1);
  expect(await recordAgreement(db, id, [BROWSER], new Date())).toBe(true);
  expect(await unfinished()).toEqual([id]);
  await change('completed');
  expect(await unfinished()).toEqual([]);
});

test.each<[LenderDecision, readonly PaymentTerm[], boolean]>([
  [{ kind: 'failed' }, ['PAY_LATER'], false],
  [DECLINED, ['PAY_LATER', 'PAY_NOW'], false],
  [DECLINED, ['PAY_LATER'], true],
])(
  'after %j of an order with %j, the checkout is unfinished: %s',
  async (decision, allowedPaymentTerms, isUnfinished) => {
    const { id, submit, decide } = await newCheckout(database.db, { facts: { allowedPaymentTerms } });
    await submit();
    await decide(decision);
    expect(await unfinished()).toEqual(isUnfinished ? [id] : []);
  },
);

test('after a decline of an order that allows Pay now, the checkout is unfinished if its account has no bank', async () => {
  const { id, submit, decide } = await checkoutAfter('signup_started');
  await submit();
  await decide(DECLINED);
  expect(await unfinished()).toEqual([]);
  expect(await findUnfinishedCheckouts(database.db, 10, { sandbox: true, live: false })).toMatchObject([{ id }]);
});

test('an action that the lender asked for before the customer came back is not shown again', async () => {
  const { db } = database;
  const { id: orderId, application, submit } = await checkoutAfter('signup_started');
  await submit();
  const { id } = await application();
  await recordAction(db, id, 'https://lender.example/1', null);
  expect(await recordReturn(db, orderId)).toBe(true);
  // Another worker's call, or one that was repeated.
  await recordAction(db, id, 'https://lender.example/1', null);
  expect((await application()).actionUrl).toBeNull();
  await recordAction(db, id, 'https://lender.example/2', (await application()).returnedAt);
  expect((await application()).actionUrl).toBe('https://lender.example/2');
});

test('the checkout of an APPROVED order is unfinished while its decision is missing, as after a restore, unless purged', async () => {
  const { id, change, submit } = await checkoutAfter('signup_started');
  await submit();
  await change('approved');
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
  const { application, submit } = await checkoutAfter('signup_started');
  await submit();
  const { id } = await application();
  await recordReferral(database.db, id);
  const referred = await application();
  expect(referred.referredAt).toBeInstanceOf(Date);
  await recordDecision(database.db, id, decision);
  await recordDecision(database.db, id, { kind: 'declined', code: 'credit_check' });
  await recordReferral(database.db, id);
  expect(await application()).toEqual({ ...referred, decision, decidedAt: expect.any(Date) });
});

test('the first agreement of an APPROVED order counts, by its browser, and its checkout is unfinished until the order closes', async () => {
  const { id, change, application, submit, decide } = await checkoutAfter('signup_started');
  await submit();
  const agree = (browsers: Buffer[], at: Date) => recordAgreement(database.db, id, browsers, at);
  expect(await agree([BROWSER], AGREED_AT)).toBe(false);
  await decide({ kind: 'approved', offer: { instalments: [] } });
  await change('approved');
  for (const others of [[], [OTHER]]) expect(await agree(others, AGREED_AT)).toBe(false);
  expect((await application()).agreedAt).toBeNull();
  expect(await unfinished()).toEqual([]);
  const agreedAt = new Date();
  expect(await agree([OTHER, BROWSER], agreedAt)).toBe(true);
  await agree([BROWSER], AGREED_AT);
  expect((await application()).agreedAt).toEqual(agreedAt);
  expect(await unfinished()).toEqual([id]);
  await change('cancel');
  expect(await unfinished()).toEqual([]);
});

test('a purge deletes the data of an applicant once and keeps the agreement', async () => {
  const { id, change, application, submit, decide } = await checkoutAfter('signup_started');
  await submit();
  await decide({ kind: 'approved', offer: { instalments: [{ dueInMonths: 1, amountPence: 7 }] } });
  await change('approved');
  await recordAgreement(database.db, id, [BROWSER], AGREED_AT);
  await change('completed');
  await age();
  const before = await application();
  expect(await purge(30 * DAY_MS, 3)).toBe(1);
  expect(await application()).toEqual({ ...before, submitted: null });
  const { rows } = await database.db.query(
    'select business_name, company_number, email, monthly_turnover_pence from application',
  );
  expect(rows).toEqual([{ business_name: null, company_number: null, email: null, monthly_turnover_pence: null }]);
  expect(await purge(30 * DAY_MS, 3)).toBe(0);
});

test('a payment is no agreement, and a purge keeps who may see its receipt', async () => {
  const { db } = database;
  const { id, change, application } = await newCheckout(db, { term: 'PAY_NOW' });
  await insertPayment(db, id, 'oak', BY_BROWSER);
  await recordPaymentStatus(db, (await findLastPayment(db, id))!.id, 'paid');
  expect(await application()).toMatchObject({ agreedAt: null, browserDigest: BROWSER });
  await change('approved', 'completed');
  await age();
  expect(await purge(30 * DAY_MS, 3)).toBe(1);
  expect(await application()).toMatchObject({ agreedAt: null, browserDigest: BROWSER });
});

test('a purge deletes at most `limit` applications whose orders closed or were abandoned before the retention', async () => {
  const ends: OrderEvent[][] = [
    ['signup_started', 'approved', 'completed'],
    ['signup_started', 'declined'],
    ['cancel'],
    ['signup_started', 'declined', 'cancel'],
  ];
  for (const events of [...ends, [], ['signup_started'] as OrderEvent[]]) await checkoutAfter(...events);
  const { id: approved } = await checkoutAfter('signup_started', 'approved');
  await age();
  const { id: closedRecently } = await checkoutAfter('signup_started', 'declined');
  await database.db.query("update application set created_at = now() - interval '40 days'");
  await database.db.query("update order_timeline set at = now() - interval '29 days' where order_id = $1", [
    closedRecently,
  ]);
  for (const deleted of [3, 3, 1, 0]) expect(await purge(30 * DAY_MS, 3)).toBe(deleted);
  // The customer of the APPROVED order can still accept the offer.
  const { rows } = await database.db.query<{ order_id: string }>('select order_id from application');
  expect(rows.map((row) => row.order_id).sort()).toEqual([approved, closedRecently].sort());
  expect(await purge(28 * DAY_MS, 3)).toBe(1);
  expect((await database.db.query('select from application')).rowCount).toBe(1);
});

test.each<[string, (checkout: Awaited<ReturnType<typeof newCheckout>>) => Promise<unknown>]>([
  ['while the lender decides', ({ submit }) => submit()],
  ['after a recent decision', ({ submit, decide }) => submit().then(() => decide(DECLINED))],
  ['while a payment is in progress', ({ id }) => insertPayment(database.db, id, 'oak', BY_BROWSER)],
])('a purge keeps the application of an old order %s', async (_, apply) => {
  const checkout = await checkoutAfter('signup_started');
  await age();
  await apply(checkout);
  expect(await purge(30 * DAY_MS, 3)).toBe(0);
  expect(await checkout.application()).toMatchObject({ browserDigest: BROWSER });
});

test('a purge deletes the application of a customer who left after a decline, or after a payment that is over', async () => {
  const { db } = database;
  const declined = await checkoutAfter('signup_started');
  await declined.submit();
  await declined.decide(DECLINED);
  const unpaid = await checkoutAfter('signup_started');
  await insertPayment(db, unpaid.id, 'oak', BY_BROWSER);
  await recordPaymentStatus(db, (await findLastPayment(db, unpaid.id))!.id, 'cancelled');
  await age();
  await db.query("update application set decided_at = decided_at - interval '31 days'");
  expect(await purge(30 * DAY_MS, 3)).toBe(2);
  expect((await db.query('select from application')).rowCount).toBe(0);
});

test('unfinished and closed checkouts are found by small indexes, whatever the number of closed orders', async () => {
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
  for (const find of [
    (explaining: typeof db) => findUnfinishedCheckouts(explaining, 500, PAY_NOW),
    (explaining: typeof db) => findOrdersToMail(explaining, { sandbox: true, live: true }, 500),
    (explaining: typeof db) => closeApplications(explaining, { sandbox: true, live: true }),
  ]) {
    const plan = await queryPlan(db, find);
    expect(plan).toMatch(/application_open/);
    expect(plan).not.toMatch(/Seq Scan on (application|orders)/);
  }
});
