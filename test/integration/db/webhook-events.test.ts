import { findPendingWebhooks } from '../../../src/db/webhook-events';
import { useDatabase } from '../../support/database';
import { DELIVERED, makeAttempt, orderWithWebhooks } from '../../support/new-attempts';

const database = useDatabase();

test('pending webhooks are read in the order of their sequence', async () => {
  const { order, ids } = await orderWithWebhooks(database.db, 'signup_started', 'approved', 'completed');
  await makeAttempt(database.db, ids[1]!, DELIVERED);
  expect(await findPendingWebhooks(database.db, order.id)).toEqual([
    { id: ids[0], sequence: 1 },
    { id: ids[2], sequence: 3 },
  ]);
});
