import type { WebhookTest } from '../domain/webhook';
import type { DbClient } from './pool';

/** Stores a test webhook for the worker that sends it, and deletes old ones: no call waits for them any more. */
export async function insertWebhookTest(db: DbClient, { webhookId, sellerId, url }: WebhookTest): Promise<void> {
  await db.query(
    `with deleted as (delete from webhook_test where created_at < now() - interval '10 minutes')
     insert into webhook_test (id, seller_id, url) values ($1, $2, $3)`,
    [webhookId, sellerId, url],
  );
}

export async function findWebhookTest(db: DbClient, webhookId: string): Promise<WebhookTest | undefined> {
  const { rows } = await db.query<WebhookTest>(
    'select id as "webhookId", seller_id as "sellerId", url from webhook_test where id = $1',
    [webhookId],
  );
  return rows[0];
}
