import { createHmac, randomUUID } from 'node:crypto';
import pg from 'pg';

/**
 * What every peer does like the service, so that the arms do the same job: tables, one save per change, signed
 * webhooks.
 */

const SECRET = Buffer.from(randomUUID());

/** The same number of connections as the service has by default. */
export function createPool() {
  return new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 20 });
}

/** Reports to the bench that the peer serves requests. The peer ends with the bench. */
export function ready(port) {
  console.log(JSON.stringify({ port }));
  process.on('disconnect', () => process.exit(0));
}

export const INSERT_ORDER = `insert into orders (id, reference, amount_pence, webhook_url) values ($1, $2, $3, $4)`;

/** One statement: the order's row, a line of its timeline, and the webhook with its body. */
export const SAVE_CHANGE = `with saved as (
    update orders set status = $2, version = $3 where id = $1 and version = $3 - 1 returning id
  ), line as (
    insert into order_timeline (order_id, version, status) select id, $3, $2 from saved
  )
  insert into webhook_event (order_id, sequence, body) select id, $3, $4 from saved`;

/** One statement: the attempt and the end of the event. */
export const RECORD_ATTEMPT = `with event as (
    update webhook_event set state = 'delivered' where order_id = $1 and sequence = $2 returning order_id
  )
  insert into webhook_attempt (order_id, sequence, status) select order_id, $2, $3 from event`;

export function webhookBody(orderId, sequence, status) {
  return JSON.stringify({ type: 'order.status_changed', data: { order: { id: orderId, status }, sequence } });
}

/** Sends a signed webhook and returns the status. Rejects unless the receiver accepts it. */
export async function sendWebhook(url, orderId, sequence, body) {
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
  return response.status;
}

/** Reads a JSON body. */
export async function readJson(request) {
  let text = '';
  for await (const chunk of request) text += chunk;
  return text === '' ? {} : JSON.parse(text);
}
