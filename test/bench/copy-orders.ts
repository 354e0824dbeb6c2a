import type pg from 'pg';
import { until } from '../support/until';
import type { Receiver } from './arms/receiver';
import type { Service } from './arms/service';

/** Orders of one transaction. */
const PART = 50_000;

/** Creates an order through the API, completes it and waits for its three webhooks: the rows that are copied. */
export async function createTemplate(service: Service, receiver: Receiver): Promise<string> {
  const id = await service.create(receiver.url);
  for (const version of [1, 2, 3]) await service.change(id, version);
  await receiver.allArrived([id], 3);
  const isDelivered = `select from webhook_event where order_id = $1 and state = 'delivered'`;
  await until(async () => (await service.db.query(isDelivered, [id])).rowCount === 3, 'its webhooks are recorded');
  return id;
}

interface Copies {
  count: number;
  /** Seconds between two of them, backwards from now. */
  everySeconds: number;
  /** Begins the references. Open ones are PENDING, with one webhook. */
  name: 'copy' | 'open' | 'sized';
}

/**
 * Copies an order with its timeline, key, webhooks and attempts by SQL, each copy older than the one before it. The first
 * webhook of a copy has one attempt more, so that a closed order has 3 webhooks and 4 attempts.
 */
export async function copyOrders(db: pg.Pool, template: string, { count, everySeconds, name }: Copies): Promise<void> {
  const open = name === 'open';
  for (let done = 0; done < count; done += PART) {
    const client = await db.connect();
    const copy = async (table: string, source: string, changed: Record<string, string>): Promise<void> => {
      const { rows } = await client.query<{ name: string }>(
        `select column_name as name from information_schema.columns
         where table_schema = 'public' and table_name = $1 order by ordinal_position`,
        [table],
      );
      const names = rows.map(({ name }) => name);
      const values = names.map((name) => changed[name] ?? `t.${name}`);
      await client.query(`insert into ${table} (${names.join(', ')}) select ${values.join(', ')} from ${source}`);
    };
    await client.query('begin');
    await client.query(
      `create temporary table copies on commit drop as
       select gen_random_uuid() as id, n, now() - n * ${everySeconds} * interval '1 second' as at
       from generate_series(${done + 1}, ${Math.min(done + PART, count)}) n`,
    );
    await client.query(
      `create temporary table event_copies on commit drop as
       select gen_random_uuid() as id, e.id as original, e.sequence, c.id as order_id, c.at
       from webhook_event e, copies c where e.order_id = '${template}' ${open ? 'and e.sequence = 1' : ''}`,
    );
    await copy('orders', `orders t, copies c where t.id = '${template}'`, {
      ...{ id: 'c.id', pay_link_id: 'gen_random_uuid()', created_at: 'c.at', saved_at: 'c.at' },
      reference: `'${name}-' || c.n`,
      amount_pence: 'c.n',
      ...(open ? { status: `'PENDING'`, version: '2', completed_at: 'null' } : { completed_at: 'c.at' }),
    });
    await copy(
      'order_timeline',
      `order_timeline t, copies c where t.order_id = '${template}' ${open ? 'and version <= 2' : ''}`,
      { position: `nextval('timeline_position')`, order_id: 'c.id', at: 'c.at' },
    );
    await client.query(
      `insert into idempotency_key select seller_id, 'web-' || c.id, sha256(c.id::text::bytea), c.id,
         json_build_object('id', c.id, 'amount', 1234.5, 'reference', c.id, 'status', 'CREATED', 'order_url',
           'https://checkout.example/pay/' || c.id || '/', 'allowed_payment_terms', array['PAY_NOW', 'PAY_LATER'])
       from orders, copies c where orders.id = '${template}'`,
    );
    await copy('webhook_event', 'webhook_event t join event_copies c on c.original = t.id', {
      ...{ id: 'c.id', order_id: 'c.order_id', created_at: 'c.at' },
      attempts: 'case when t.sequence = 1 then 2 else 1 end',
    });
    const attempt = { event_id: 'c.id', position: `nextval('timeline_position')`, at: 'c.at' };
    const attempts = 'webhook_attempt t join event_copies c on c.original = t.event_id';
    await copy('webhook_attempt', attempts, attempt);
    await copy('webhook_attempt', `${attempts} where c.sequence = 1`, { ...attempt, attempt: '2', step: '2' });
    await client.query('commit');
    client.release();
  }
  await db.query('vacuum analyze');
}
