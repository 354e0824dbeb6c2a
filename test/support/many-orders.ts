import type { DbClient } from '../../src/db/pool';

/** Inserts SUCCESSFUL copies of an order by SQL, each a minute older than the last, completed in its own second. */
export async function copyOrder(db: DbClient, id: string, count: number): Promise<void> {
  await db.query(
    `with copy as (
       insert into orders (id, seller_id, seller_name, amount_pence, reference, allowed_payment_terms, redirect_url,
         pay_link_id, pricing, created_at, saved_at, completed_at, payment_term, version, status)
       select gen_random_uuid(), seller_id, seller_name, 100 + n, 'copy ' || n, allowed_payment_terms, redirect_url,
         gen_random_uuid(), pricing, at, at + interval '1 s', at + interval '1 s', 'PAY_NOW', 2, 'SUCCESSFUL'
       from orders, generate_series(1, $2::int) n, lateral (select created_at - n * interval '1 minute' as at) times
       where id = $1
       returning id, created_at, completed_at)
     insert into order_timeline (order_id, version, event, from_status, to_status, actor, channel, at, payment_term)
     select id, 1, 'created', null, 'CREATED', 'seller', 'api', created_at, null from copy
     union all
     select id, 2, 'completed', 'APPROVED', 'SUCCESSFUL', 'checkout', 'api', completed_at, 'PAY_NOW' from copy`,
    [id, count],
  );
  await db.query('analyze orders, order_timeline');
}
