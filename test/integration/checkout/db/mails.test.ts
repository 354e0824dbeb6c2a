import {
  closeApplications,
  findDueMail,
  findOrdersToMail,
  moveApplication,
  recordLinkRequest,
  recordMailed,
} from '../../../../src/checkout/db/mails';
import { recordAgreement, recordReferral, upsertPaymentTerm } from '../../../../src/checkout/db/applications';
import { oldCheckoutDataOf } from '../../../../src/checkout/db/old-checkout-data';
import { deleteOldData } from '../../../../src/db/old-data';
import type { OrderEvent } from '../../../../src/domain/order';
import { useDatabase } from '../../../support/database';
import { BROWSER, newCheckout } from '../../../support/new-applications';
import { insertNewOrder } from '../../../support/new-orders';

const OFFER = { instalments: [{ dueInMonths: 1, amountPence: 100 }] };
const ALL = { sandbox: true, live: true };

const database = useDatabase('test');

/** A PENDING order with a submitted application, and functions that change both. */
async function submitted() {
  const { db } = database;
  const checkout = await newCheckout(db);
  const { id } = checkout;
  await checkout.submit();
  const due = async (to = ALL) => (await findDueMail(db, id, to))?.kind;
  const mailed = async () => recordMailed(db, id, (await findDueMail(db, id, ALL))!);
  const applicationId = async () => (await checkout.application()).id;
  const older = (column: string, by: string) =>
    db.query(`update application set ${column} = ${column} - $2::interval where order_id = $1`, [id, by]);
  return { ...checkout, db, applicationId, due, mailed, older };
}

test('each event of an application is due once, and only to accounts whose mails go somewhere', async () => {
  const { db, id, change, applicationId, decide, due, mailed } = await submitted();
  expect(await due()).toBeUndefined();
  await recordReferral(db, await applicationId());
  expect(await due()).toBe('review');
  expect(await due({ sandbox: true, live: false })).toBeUndefined();
  expect(await findOrdersToMail(db, ALL, 500)).toContainEqual(expect.objectContaining({ id }));
  await mailed();
  expect(await due()).toBeUndefined();
  await decide({ kind: 'approved', offer: OFFER });
  // The page has nothing new before the order is approved.
  expect(await due()).toBeUndefined();
  await change('approved');
  expect(await due()).toBe('decided');
  await mailed();
  await recordAgreement(db, id, [BROWSER], new Date());
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
  const { db, id, change, applicationId, decide, due } = await submitted();
  await recordReferral(db, await applicationId());
  await decide({ kind: 'approved', offer: OFFER });
  await change('approved');
  await recordAgreement(db, id, [BROWSER], new Date());
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
  const { applicationId, submit, decide, due, mailed } = await submitted();
  const first = await applicationId();
  await decide({ kind: 'failed' });
  expect(await due()).toBe('decided');
  await mailed();
  expect(await due()).toBeUndefined();
  await submit({ replaces: first });
  expect(await due()).toBeUndefined();
  await decide({ kind: 'failed' });
  expect(await due()).toBe('decided');
});

test('a mail is tried for three days, and the link for half an hour', async () => {
  const { db, id, change, decide, due, older } = await submitted();
  await recordLinkRequest(db, id);
  expect(await due()).toBe('link');
  await db.query(`update application set link_requests = array[now() - interval '31 minutes'] where order_id = $1`, [
    id,
  ]);
  expect(await due()).toBeUndefined();
  await decide({ kind: 'approved', offer: OFFER });
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
  const { db, id, application } = await submitted();
  await recordLinkRequest(db, id);
  const [requestedAt] = (await application()).openLinks;
  const moves = await Promise.all(
    [Buffer.alloc(32, 2), Buffer.alloc(32, 3)].map((browser) => moveApplication(db, id, requestedAt!, browser)),
  );
  expect(moves.sort()).toEqual([false, true]);
  expect((await application()).openLinks).toEqual([]);
  expect(await moveApplication(db, id, requestedAt!, BROWSER)).toBe(false);
  expect(await moveApplication(db, id, new Date(), BROWSER)).toBe(false);
});

test('of many requests for a link at the same time, three are taken, and none without an address', async () => {
  const { db, id } = await submitted();
  const taken = await Promise.all(Array.from({ length: 10 }, () => recordLinkRequest(db, id)));
  expect(taken.filter(Boolean)).toHaveLength(3);
  const { id: other } = await insertNewOrder(db);
  await upsertPaymentTerm(db, other, 'PAY_LATER');
  expect(await recordLinkRequest(db, other)).toBe(false);
});
