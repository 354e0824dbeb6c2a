import { randomUUID } from 'node:crypto';
import { type WorkflowOrderHistory, PAYMENT_TERMS } from '../domain/order';
import { withOrderId } from '../domain/redirect-url';
import { isFinal } from '../domain/status';
import { violatedConstraint } from './database-errors';
import { addRebuiltOrder } from './order-work';
import { type Db, type DbClient, inTransaction } from './pool';
import { insertChange } from './save-order';
import { insertRecovery } from './timeline-notes';

type Rebuilt = 'rebuilt' | 'no_account' | 'no_redirect_url' | 'reference_taken';

/** What only Postgres held, for the timeline. */
const LOST = 'rebuilt from the workflow; pay link, URLs, payment terms, source and meta_data are lost';

export async function findOrdersWithoutRow(db: DbClient, orderIds: readonly string[]): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>(
    'select id from unnest($1::uuid[]) as t(id) where not exists (select from orders o where o.id = t.id)',
    [orderIds],
  );
  return rows.map(({ id }) => id);
}

/**
 * Inserts the row of an order that a restored backup lacks, with what its workflow holds. Account defaults replace the
 * URLs and pricing, and the pay link is a new one. The order gets no webhooks: their URL is lost.
 * @returns why the order cannot be rebuilt, if so
 */
export async function rebuildOrder(
  db: Db,
  sellerId: string,
  { order, changes }: WorkflowOrderHistory,
): Promise<Rebuilt> {
  try {
    const rebuilt = await inTransaction(db, async (client): Promise<Rebuilt> => {
      const { rows } = await client.query<{ url: string | null }>(
        'select default_redirect_url as url from seller where id = $1',
        [sellerId],
      );
      if (!rows[0]) return 'no_account';
      if (rows[0].url === null) return 'no_redirect_url';
      await client.query(
        `insert into orders (id, seller_id, sandbox, seller_name, amount_pence, reference, allowed_payment_terms,
           redirect_url, pay_link_id, pricing, created_at, expires_at, version, status, cancelled_at)
         select $1, s.id, s.sandbox, $3, $4, $5, $6, $7, $8, s.pricing, $9, $10, $11, $12, $13
         from seller s where s.id = $2`,
        [
          order.id,
          sellerId,
          order.sellerName,
          order.amountPence,
          order.reference,
          PAYMENT_TERMS,
          withOrderId(rows[0].url, order.id),
          randomUUID(),
          changes[0]?.at,
          order.expiresAt,
          order.version,
          order.status,
          order.cancelledAt,
        ],
      );
      for (const change of changes) await insertChange(client, order.id, change);
      if (!isFinal(order.status)) await addRebuiltOrder(client, order.id);
      return 'rebuilt';
    });
    if (rebuilt === 'rebuilt') {
      await insertRecovery(db, { id: randomUUID(), orderId: order.id, channel: 'cli', reason: LOST });
    }
    return rebuilt;
  } catch (error) {
    if (violatedConstraint(error) === 'orders_reference') return 'reference_taken';
    throw error;
  }
}
