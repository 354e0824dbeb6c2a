import { inTransaction } from '../../../src/db/pool';
import { openOrder, setBack, versionOfRow } from '../../support/orders';
import { useStack } from '../../support/stack';
import { until } from '../../support/until';

// The regular check of an order, which would find the difference too, comes long after the test.
const stack = useStack({ env: { SWEEP_CHECK_AFTER_MS: '600000' } });

/**
 * Resets Postgres to a backup that was made after the order was created, and before its workflow's start was recorded.
 */
async function restoreAsNotStarted(id: string): Promise<void> {
  await inTransaction(stack.db, async (client) => {
    await setBack(client, id, 1, 'CREATED');
    await client.query('delete from order_work where order_id = $1', [id]);
    await client.query(
      `insert into order_work (order_id, started, seller_id, waiting_since, sweep_at)
       values ($1, false, $2, now(), now() + interval '1 second')`,
      [id, stack.seller.id],
    );
  });
}

test.each([
  ['is open', ['signup_started', 'approved'], 3],
  ['has ended', ['signup_started', 'approved', 'completed'], 4],
])(
  'the row of a restored backup that does not know that its workflow was started, which %s, is brought forward immediately',
  async (_, events, version) => {
    const id = await openOrder(stack, {}, events);
    if (version === 4) await stack.client.workflow.getHandle(`order-${id}`).result();
    await restoreAsNotStarted(id);
    await until(async () => (await versionOfRow(stack, id)) === version, 'the row is at the version of the workflow');
  },
);
