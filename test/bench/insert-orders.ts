import type pg from 'pg';

/** Inserts closed orders by SQL, each with its first change and a delivered webhook. */
export async function insertClosedOrders(db: pg.Pool, sellerId: string, count: number, url: string): Promise<void> {
  const client = await db.connect();
  try {
    await client.query('begin');
    await client.query(
      `create temporary table inserted on commit drop as
       select gen_random_uuid() as id, n, now() - n * interval '1 second' as at from generate_series(1, $1::int) n`,
      [count],
    );
    await client.query(
      `insert into orders (id, seller_id, seller_name, amount_pence, reference, allowed_payment_terms, redirect_url,
         webhook_url, pay_link_id, pricing, created_at, version, status)
       select id, $1, 'Test Shop Ltd', 1000 + n, 'inserted-' || id, '{PAY_NOW,PAY_LATER}', 'https://shop.example/done',
         $2, gen_random_uuid(), '{"representativeInterest": 0, "promotions": []}', at, 2, 'UNSUCCESSFUL'
       from inserted`,
      [sellerId, url],
    );
    await client.query(
      `insert into order_timeline (order_id, version, event, from_status, to_status, actor, channel, at)
       select id, 1, 'created', null, 'CREATED', 'seller', 'api', at from inserted
       union all select id, 2, 'failed', 'CREATED', 'UNSUCCESSFUL', 'checkout', 'api', at + interval '1 s' from inserted`,
    );
    await client.query(
      `insert into webhook_event (id, order_id, seller_id, sequence, body, state, attempts)
       select gen_random_uuid(), id, $1, 1,
         json_build_object('type', 'order.status_changed', 'data',
           json_build_object('order', json_build_object('id', id), 'sequence', 1))::text, 'delivered', 1
       from inserted`,
      [sellerId],
    );
    await client.query('commit');
  } finally {
    client.release();
  }
  await db.query('vacuum analyze orders, order_timeline, webhook_event');
}
