import { recordAgreement, upsertPaymentTerm } from '../../../src/db/applications';
import { recordPaymentStatus } from '../../../src/db/payments';
import { inTransaction } from '../../../src/db/pool';
import { type OrderStatus, isFinal } from '../../../src/domain/status';
import { openOrder, setBack, statusOf, timelineOf, versionOfRow } from '../../support/orders';
import { useStack } from '../../support/stack';
import { until } from '../../support/until';
import { saveAgainSignal } from '../../../workflows/messages';

const stack = useStack({
  env: {
    ORDER_EXPIRES_AFTER_MS: '15000',
    SWEEP_INTERVAL_MS: '600000',
    // The API leaves slow starts to the sweep, which does not run here.
    SWEEP_START_AFTER_MS: '600000',
    START_TIMEOUT_MS: '60000',
  },
});

/** Waits until the row has the order's last change. Its run may fail by design, if the machine stalls while it saves. */
async function closingChange(id: string) {
  const closing = async () => (await timelineOf(stack, id)).find(({ to_status: to }) => isFinal(to as OrderStatus));
  return until(closing, 'the order is closed');
}

test.concurrent("an expiry does not override the customer's recorded agreement", async () => {
  const id = await openOrder(stack, {}, ['signup_started', 'approved']);
  await upsertPaymentTerm(stack.db, id, 'PAY_NOW');
  // The API that has recorded it dies before it completes the order.
  const browser = Buffer.alloc(32);
  await stack.db.query('update application set browser_digest = $2 where order_id = $1', [id, browser]);
  await recordAgreement(stack.db, id, [browser], new Date(), 600_000);
  expect(await closingChange(id)).toMatchObject({
    event: 'completed',
    version: 4,
    actor: 'customer',
    channel: 'workflow',
  });
});

test.concurrent.each([
  ['processing', 'refused', 'expired', 'UNSUCCESSFUL'],
  ['processing', 'paid', 'completed', 'SUCCESSFUL'],
  ['pending', 'cancelled', 'expired', 'UNSUCCESSFUL'],
] as const)(
  'an expiry waits while a payment is %s: once it is %s, the order is %s',
  async (state, result, event, status) => {
    const id = await openOrder(stack, {}, ['signup_started']);
    await upsertPaymentTerm(stack.db, id, 'PAY_NOW');
    const { rows } = await stack.db.query<{ id: string }>(
      // A bank that does not answer for long may still report that the customer has approved it.
      `insert into payment (order_id, bank, status, started_at)
       values ($1, 'oak', $2, now() - interval '1 hour') returning id`,
      [id, state],
    );
    const run = stack.client.workflow.getHandle(`order-${id}`);
    const hasWaited = async () => {
      const { events } = await run.fetchHistory();
      return events!.filter(({ timerFiredEventAttributes }) => timerFiredEventAttributes).length >= 2;
    };
    await until(hasWaited, 'the expiry was tried and is tried again');
    await recordPaymentStatus(stack.db, rows[0]!.id, result, 600_000);
    if (result === 'paid') await run.signal('requestDecision');
    expect(await closingChange(id)).toMatchObject({ event, to_status: status });
  },
);

// The open run waits for its webhook.
test.concurrent.each([
  ['a closed run', 'COMPLETED', null],
  ['an open run', 'RUNNING', 'http://127.0.0.1:9/'],
])(
  'an expiry that a restored Postgres has lost is saved again by %s, although a payment was in progress at the backup',
  async (_, state, webhookUrl) => {
    const id = await openOrder(stack, { webhook_url: webhookUrl }, ['signup_started']);
    const expired = expect.objectContaining({ event: 'expired' });
    await until(async () => (await timelineOf(stack, id)).at(-1)?.event === 'expired', 'the order has expired');
    await until(async () => (await statusOf(stack.client, id)) === state, `the run is ${state}`);
    await inTransaction(stack.db, async (client) => {
      await setBack(client, id, 2, 'PENDING');
      await client.query(`insert into payment (order_id, bank) values ($1, 'oak')`, [id]);
    });
    expect(await timelineOf(stack, id)).not.toContainEqual(expired);
    if (state === 'RUNNING') await stack.client.workflow.getHandle(`order-${id}`).signal(saveAgainSignal);
    else await stack.api.cancel(id);
    await until(async () => (await versionOfRow(stack, id)) >= 3, 'the row has the expiry again');
    expect(await timelineOf(stack, id)).toContainEqual(expired);
  },
);

test.concurrent('an expiry does not override a recorded payment', async () => {
  const id = await openOrder(stack, {}, ['signup_started']);
  await upsertPaymentTerm(stack.db, id, 'PAY_NOW');
  const { rows } = await stack.db.query<{ id: string }>(
    `insert into payment (order_id, bank, status) values ($1, 'oak', 'processing') returning id`,
    [id],
  );
  // The worker that has recorded it dies before the workflow knows.
  await recordPaymentStatus(stack.db, rows[0]!.id, 'paid', 600_000);
  const run = stack.client.workflow.getHandle(`order-${id}`);
  const hasExpired = async () => {
    const { events } = await run.fetchHistory();
    return events!.some(({ timerFiredEventAttributes }) => timerFiredEventAttributes);
  };
  await until(hasExpired, "the order's expiry has fired");
  await run.signal('requestDecision');
  expect(await closingChange(id)).toMatchObject({ to_status: 'SUCCESSFUL' });
});
