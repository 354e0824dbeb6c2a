import { findWebhooks, findWebhooksToResend } from '../../../src/db/find-webhooks';
import { useDatabase } from '../../support/database';
import { orderWithWebhooks } from '../../support/new-attempts';
import { queryPlan } from '../../support/query-plan';

const database = useDatabase();
beforeAll(async () => {
  const { ids } = await orderWithWebhooks(database.db, 'signup_started');
  await database.db.query(`update webhook_event set state = 'exhausted'`);
  await database.db.query(
    `insert into webhook_event (id, order_id, seller_id, sequence, body, state, created_at)
     select gen_random_uuid(), order_id, seller_id, n + 1, body, 'delivered', created_at - n * interval '1 minute'
     from webhook_event, generate_series(1, 20000) n where id = $1`,
    [ids[0]],
  );
  await database.db.query('analyze webhook_event');
});

test.each([
  ['listed', (db) => findWebhooks(db, { state: 'exhausted' }, 50)],
  ['resent', (db) => findWebhooksToResend(db, { state: 'exhausted' }, 100)],
] as [string, (db: typeof database.db) => Promise<unknown>][])(
  'few undelivered webhooks of all sellers are %s without a read of all that are delivered',
  async (_, find) => {
    expect(await queryPlan(database.db, find)).toContain('using webhook_event_undelivered_by_age');
  },
);
