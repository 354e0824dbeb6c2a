import type { OldData } from './old-data';

/** How long data is kept, in days. */
export interface Retention {
  webhookDays: number;
  /** Undefined: for ever. */
  orderDays?: number | undefined;
  sandboxDays: number;
}

/** SQL: deletes the content of the webhooks in `due`. Their lines stay. */
export const DELETE_CONTENT = `attempts as (delete from webhook_attempt where event_id in (select id from due)),
  contents as (update webhook_event set body = null, content_deleted_at = now() where id in (select id from due))`;

/** SQL, true for a closed order `o` that nothing waits for. Its foreign keys delete all that belongs to it. */
const IS_DONE = `o.status in ('SUCCESSFUL', 'UNSUCCESSFUL') and o.behind_version is null
  and not exists (select from start_request where order_id = o.id)
  and not exists (select from webhook_event where order_id = o.id and state = 'pending')
  and not exists (select from checkout_unsettled where order_id = o.id)`;

const oldOrders = (name: string, days: number, sandbox: boolean): OldData => ({
  name,
  days,
  from: 'orders o',
  columns: 'o.id',
  time: 'o.saved_at',
  where: `o.sandbox = ${sandbox} and ${IS_DONE}`,
  change: 'deleted as (delete from orders where id in (select id from due))',
});

/** The old data of the order core. */
export function oldDataOf({ webhookDays, orderDays, sandboxDays }: Retention): OldData[] {
  return [
    {
      name: 'webhook_secrets',
      days: 0,
      from: 'webhook_secret s',
      columns: 's.id',
      time: 's.expires_at',
      where: 'true',
      change: 'deleted as (delete from webhook_secret where id in (select id from due))',
    },
    {
      // They end within hours, and name a person.
      name: 'portal_sessions',
      days: 1,
      from: 'portal_session p',
      columns: 'p.id',
      time: 'p.created_at',
      where: 'true',
      change: 'deleted as (delete from portal_session where id in (select id from due))',
    },
    {
      name: 'webhook_contents',
      days: webhookDays,
      from: 'webhook_event e',
      columns: 'e.id',
      time: 'e.created_at',
      where: `e.content_deleted_at is null and e.state <> 'pending'`,
      change: DELETE_CONTENT,
    },
    oldOrders('sandbox_orders', sandboxDays, true),
    ...(orderDays === undefined ? [] : [oldOrders('orders', orderDays, false)]),
  ];
}
