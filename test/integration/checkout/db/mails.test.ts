import {
  closeApplications,
  findDueMail,
  findOrdersToMail,
  moveApplication,
  recordLinkRequest,
  recordMailed,
} from '../../../../src/checkout/db/mails';
import {
  findApplication,
  recordAgreement,
  recordDecision,
  recordReferral,
  storeApplication,
  upsertPaymentTerm,
} from '../../../../src/checkout/db/applications';
import { oldCheckoutDataOf } from '../../../../src/checkout/db/old-checkout-data';
import { deleteOldData } from '../../../../src/db/old-data';
import type { OrderEvent } from '../../../../src/domain/order';
import { useDatabase } from '../../../support/database';
import { applyEvents } from '../../../support/domain-orders';
import { insertNewOrder, saveChanges } from '../../../support/new-orders';

const APPLICANT = {
  businessName: 'Bloggs Ltd',
  companyNumber: '01234567',
  email: 'jo@bloggs.example',
  monthlyTurnoverPence: 1_250_050,
};
const [ONE, TWO] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
const OFFER = { instalments: [{ dueInMonths: 1, amountPence: 100 }] };
const ALL = { sandbox: true, live: true };

const database = useDatabase('test');

/** A PENDING order with a submitted application, and functions that change both. */
async function submitted() {
  const { db } = database;
  let order = await insertNewOrder(db);
  const { id } = order;
  const change = async (...events: OrderEvent[]) => saveChanges(db, (order = applyEvents(order, ...events)));
  await upsertPaymentTerm(db, id, 'PAY_LATER');
  await change('signup_started');
  await storeApplication(db, id, { applicant: APPLICANT, browserDigest: ONE });
  const applicationId = async () => (await findApplication(db, id))!.id;
  const due = async (to = ALL) => (await findDueMail(db, id, to))?.kind;
  const mailed = async () => recordMailed(db, id, (await findDueMail(db, id, ALL))!);
  const older = (column: string, by: string) =>
    db.query(`update application set ${column} = ${column} - $2::interval where order_id = $1`, [id, by]);
  return { db, id, change, applicationId, due, mailed, older };
}

test('each event of an application is due once, and only to accounts whose mails go somewhere', async () => {
  const { db, id, change, applicationId, due, mailed } = await submitted();
  expect(await due()).toBeUndefined();
  await recordReferral(db, await applicationId());
  expect(await due()).toBe('review');
  expect(await due({ sandbox: true, live: false })).toBeUndefined();
  expect(await findOrdersToMail(db, ALL, 500)).toContainEqual(expect.objectContaining({ id }));
  await mailed();
  expect(await due()).toBeUndefined();
  await recordDecision(db, await applicationId(), { kind: 'approved', offer: OFFER });
  // The page has nothing new before the order is approved.
  expect(await due()).toBeUndefined();
  await change('approved');
  expect(await due()).toBe('decided');
  await mailed();
  await recordAgreement(db, id, [ONE], new Date());
  expect(await due()).toBeUndefined();
  await change('completed');
  expect(await due()).toBe('agreed');
  await closeApplications(db, ALL);
  expect(await findOrdersToMail(db, ALL, 500)).toContainEqual(expect.objectContaining({ id }));
  await mailed();
  expect(await due()).toBeUndefined();
  await closeApplications(db, ALL);
  const { rows } = await db.query('select closed_at is not null as closed from application where order_id = $1', [id]);
  expect(rows).toEqual([{ closed: true }]);
});

test('a customer who agrees before a mail about the decision is sent gets the agreement only', async () => {
  const { db, id, change, applicationId, due } = await submitted();
  await recordReferral(db, await applicationId());
  await recordDecision(db, await applicationId(), { kind: 'approved', offer: OFFER });
  await change('approved');
  await recordAgreement(db, id, [ONE], new Date());
  await change('completed');
  expect(await due()).toBe('agreed');
});

test.each<OrderEvent>(['expired', 'cancel', 'failed', 'declined'])(
  'an order that closes by %s is mailed',
  async (event) => {
    const { change, due, mailed } = await submitted();
    await change(event);
    expect(await due()).toBe('closed');
    await mailed();
    expect(await due()).toBeUndefined();
  },
);

test('a second application after a failure is decided, and mailed, again', async () => {
  const { db, id, applicationId, due, mailed } = await submitted();
  const first = await applicationId();
  await recordDecision(db, first, { kind: 'failed' });
  expect(await due()).toBe('decided');
  await mailed();
  expect(await due()).toBeUndefined();
  await storeApplication(db, id, { applicant: APPLICANT, browserDigest: ONE, replaces: first });
  expect(await due()).toBeUndefined();
  await recordDecision(db, await applicationId(), { kind: 'failed' });
  expect(await due()).toBe('decided');
});

test('a mail is tried for three days, and the link for half an hour', async () => {
  const { db, id, change, due, older } = await submitted();
  await recordLinkRequest(db, id);
  expect(await due()).toBe('link');
  await db.query(`update application set link_requests = array[now() - interval '31 minutes'] where order_id = $1`, [
    id,
  ]);
  expect(await due()).toBeUndefined();
  const application = (await findApplication(db, id))!;
  await recordDecision(db, application.id, { kind: 'approved', offer: OFFER });
  await change('approved');
  await older('decided_at', '71 hours');
  expect(await due()).toBe('decided');
  await older('decided_at', '2 hours');
  expect(await due()).toBeUndefined();
  await closeApplications(db, ALL);
});

test('a mail that is to be sent when the applicant is deleted is dropped, and kept mails go too', async () => {
  const { db, id, change, due } = await submitted();
  await change('expired');
  expect(await due()).toBe('closed');
  await db.query(
    `insert into sandbox_mail (id, seller_id, order_id, from_name, mail_to, subject, text, html)
     select 'closed.1', seller_id, id, '', 'jo@bloggs.example', '', '', '' from orders where id = $1`,
    [id],
  );
  const applications = oldCheckoutDataOf({ applicationRetentionMs: 0, sandboxDays: 30 }).find(
    ({ name }) => name === 'applications',
  )!;
  await db.query(`update order_timeline set at = at - interval '1 day' where order_id = $1`, [id]);
  expect(await deleteOldData(db, applications, 500)).toMatchObject({ deleted: 1 });
  expect(await due()).toBeUndefined();
  expect((await db.query('select from sandbox_mail where order_id = $1', [id])).rowCount).toBe(0);
});

test('of two browsers that use a link at the same time, one gets the application', async () => {
  const { db, id } = await submitted();
  await recordLinkRequest(db, id);
  const [requestedAt] = (await findApplication(db, id))!.openLinks;
  const moves = await Promise.all(
    [TWO, Buffer.alloc(32, 3)].map((browser) => moveApplication(db, id, requestedAt!, browser)),
  );
  expect(moves.sort()).toEqual([false, true]);
  expect((await findApplication(db, id))!.openLinks).toEqual([]);
  expect(await moveApplication(db, id, requestedAt!, ONE)).toBe(false);
  expect(await moveApplication(db, id, new Date(), ONE)).toBe(false);
});

test('of many requests for a link at the same time, three are taken, and none without an address', async () => {
  const { db, id } = await submitted();
  const taken = await Promise.all(Array.from({ length: 10 }, () => recordLinkRequest(db, id)));
  expect(taken.filter(Boolean)).toHaveLength(3);
  const { id: other } = await insertNewOrder(db);
  await upsertPaymentTerm(db, other, 'PAY_LATER');
  expect(await recordLinkRequest(db, other)).toBe(false);
});
