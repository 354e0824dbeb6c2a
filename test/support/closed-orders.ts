import type { Db } from '../../src/db/pool';
import type { TestSeller } from './stack';

/** Inserts UNSUCCESSFUL orders without a workflow, each with one webhook. The sweep is to deliver the pending ones. */
export async function insertClosedOrders(
  db: Db,
  { seller, url, count, state }: { seller: TestSeller; url: string; count: number; state: 'pending' | 'delivered' },
): Promise<void> {
  await db.query(
    `with new_order as (
       insert into orders (id, seller_id, seller_name, amount_pence, reference, allowed_payment_terms, redirect_url,
         webhook_url, pay_link_id, pricing, created_at, version, status)
       select gen_random_uuid(), $1, 'Test Shop Ltd', 1000, gen_random_uuid()::text, '{PAY_LATER}',
         'https://shop.example/', $2, gen_random_uuid(), '{"representativeInterest": 0, "promotions": []}', now(), 2,
         'UNSUCCESSFUL'
       from generate_series(1, $3) returning id
     ), change as (
       insert into order_timeline (order_id, version, event, from_status, to_status, actor, channel, at)
       select id, 1, 'created', null, 'CREATED', 'seller', 'api', now() from new_order
       union all select id, 2, 'failed', 'CREATED', 'UNSUCCESSFUL', 'checkout', 'api', now() from new_order
     ), event as (
       insert into webhook_event (id, order_id, seller_id, sequence, body, state)
       select gen_random_uuid(), id, $1, 1, '{"data": {}}', $4 from new_order
     )
     insert into order_work (order_id, started, sweep_at) select id, true, now() from new_order where $4 = 'pending'`,
    [seller.id, url, count, state],
  );
}
