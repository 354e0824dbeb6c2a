import { AGE, type OldData } from '../../db/old-data';

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
