import { createHmac, randomUUID } from 'node:crypto';
import type pg from 'pg';

export type BareActivities = ReturnType<typeof createBareActivities>;

const SECRET = Buffer.from(randomUUID());

export const INSERT_ORDER = 'insert into orders (id, reference, amount_pence, webhook_url) values ($1, $2, $3, $4)';
const SAVE_CHANGE = `with saved as (
    update orders set status = $2, version = $3 where id = $1 and version = $3 - 1 returning id
  ), line as (
    insert into order_timeline (order_id, version, status) select id, $3, $2 from saved
  )
  insert into webhook_event (order_id, sequence, body) select id, $3, $4 from saved`;
const READ_EVENT = 'select body from webhook_event where order_id = $1 and sequence = $2';
const RECORD_ATTEMPT = `with event as (
    update webhook_event set state = 'delivered' where order_id = $1 and sequence = $2 returning order_id
  )
  insert into webhook_attempt (order_id, sequence, status) select order_id, $2, $3 from event`;

/** What an order needs of Postgres and HTTP, with as few statements as possible. */
export function createBareActivities(db: pg.Pool) {
  return {
    async save(orderId: string, status: string, version: number): Promise<void> {
      const data = { order: { id: orderId, status }, sequence: version };
      const body = JSON.stringify({ type: 'order.status_changed', data });
      await db.query(SAVE_CHANGE, [orderId, status, version, body]);
    },

    async send(orderId: string, sequence: number, url: string): Promise<void> {
      const { rows } = await db.query<{ body: string }>(READ_EVENT, [orderId, sequence]);
      const { body } = rows[0]!;
      const id = `${orderId}-${sequence}`;
      const timestamp = Math.floor(Date.now() / 1000);
      const signature = createHmac('sha256', SECRET).update(`${id}.${timestamp}.${body}`).digest('base64');
      const response = await fetch(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'webhook-id': id,
          'webhook-timestamp': String(timestamp),
          'webhook-signature': `v1,${signature}`,
        },
        body,
        redirect: 'manual',
        signal: AbortSignal.timeout(15_000),
      });
      await response.text();
      if (!response.ok) throw new Error(`status ${response.status}`);
      await db.query(RECORD_ATTEMPT, [orderId, sequence, response.status]);
    },
  };
}
