import { AGE, type OldData } from '../../db/old-data';
import type { DbClient } from '../../db/pool';

/**
 * SQL, true if something of the application `a` of the order `o` is kept. An agreement is, because its instalments are
 * due for longer, and so are the receipt of a payment and the offer of an open order, which its customer can still
 * accept; all with the digest of the browser that may see them.
 */
const KEPT = `o.status = 'APPROVED' or (o.status = 'SUCCESSFUL' and (a.agreed_at is not null
  or exists (select from payment where order_id = a.order_id and status = 'paid'))) as kept`;

/** SQL: deletes the personal data of the applications in `due`. */
const DELETE_PERSONAL_DATA = `deleted as (
    delete from application where id in (select id from due where not kept)
  ), mails as (
    delete from sandbox_mail where order_id in (select order_id from application where id in (select id from due))
  ), stripped as (
    update application set purged_at = now(), business_name = null, company_number = null, email = null,
      monthly_turnover_pence = null, action_url = null
    where id in (select id from due where kept)
  )`;

/** The hosted checkout's old data. */
export function oldCheckoutDataOf(retention: { applicationRetentionMs: number; sandboxDays: number }): OldData[] {
  return [
    {
      // Of orders that closed, or are abandoned. An open application is kept while the lender decides, for as long
      // after the decision, and while a payment is in progress.
      name: 'applications',
      days: retention.applicationRetentionMs / 86_400_000,
      from: 'application a join checkout_order o on o.id = a.order_id',
      columns: `a.id, ${KEPT}`,
      time: 'a.created_at',
      where: `a.purged_at is null and not (o.status = 'PENDING' and (
          (a.submitted_at is not null and (a.decided_at is null or a.decided_at >= now() - ${AGE}))
          or exists (select from payment where order_id = a.order_id and closed_at is null)))
        and o.changed_at < now() - ${AGE}`,
      change: DELETE_PERSONAL_DATA,
    },
    {
      name: 'sandbox_payments',
      days: retention.sandboxDays,
      from: 'sandbox_payment b',
      columns: 'b.id',
      time: 'b.started_at',
      where: 'not exists (select from payment where id = b.id)',
      change: 'deleted as (delete from sandbox_payment where id in (select id from due))',
    },
  ];
}

/** Deletes the personal data in the applications of closed orders at once. */
export async function eraseApplications(client: DbClient, orderIds: readonly string[]): Promise<void> {
  await client.query(
    `with due as (
       select a.id, ${KEPT} from application a join checkout_order o on o.id = a.order_id
       where a.order_id = any($1::uuid[]) and a.purged_at is null
     ), ${DELETE_PERSONAL_DATA} select`,
    [orderIds],
  );
}

/** Finds the orders with an application of a customer, until its personal data is deleted. */
export async function findOrdersOfCustomer(
  db: DbClient,
  { email, company }: { email?: string | undefined; company?: string | undefined },
): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>(
    `select order_id as id from application where ${email === undefined ? 'company_number = $1' : 'lower(email) = lower($1)'}`,
    [email ?? company],
  );
  return rows.map(({ id }) => id);
}

/** What the hosted checkout stores with an order, as its rows. */
export async function exportCheckout(db: DbClient, orderId: string): Promise<object> {
  const { rows } = await db.query<{ held: object }>(
    `select jsonb_build_object(
       'application', (select to_jsonb(a) - 'browser_digest' from application a where order_id = $1),
       'payments', (select coalesce(jsonb_agg(to_jsonb(p) order by started_at), '[]') from payment p where order_id = $1)
     ) as held`,
    [orderId],
  );
  return rows[0]?.held ?? {};
}

/** Deletes what customers see of a seller. */
export async function deleteBranding(client: DbClient, sellerId: string): Promise<void> {
  await client.query('delete from branding where seller_id = $1', [sellerId]);
}
