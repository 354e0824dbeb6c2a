import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { temporal } from '@temporalio/proto';
import { PACKAGE_ROOT } from '../../src/package';
import { cancelSignal, customerProgressSignal, saveAgainSignal } from '../../workflows/messages';
import { findApplication, upsertPaymentTerm } from '../../src/db/applications';
import { recordPaymentStatus } from '../../src/db/payments';
import { inTransaction } from '../../src/db/pool';
import { applied, newCustomer, startCheckout } from './checkout';
import { exitWith } from './exit-with';
import globalSetup from './global-setup';
import globalTeardown from './global-teardown';
import { startTestServer } from './listening-server';
import { approveInRow, isRunning, openOrder, queryOrder, resendFirst, setBack, versionOfRow } from './orders';
import { startReceiver } from './receiver';
import { type Stack, startStack } from './stack';
import { until } from './until';

/**
 * `npm run record-histories -- <prefix> [<scenario>…]`: runs orders on real servers and saves each workflow's history
 * to test/histories/ for the replay test. Add files with every release, and never change existing ones.
 */
const FOLDER = path.join(PACKAGE_ROOT, 'test/histories');

const workflow = ({ client }: Stack, id: string) => client.workflow.getHandle(`order-${id}`);

/** The id of an order, or one of its runs; by default, the newest one. */
type Recorded = string | { id: string; runId: string };

/** Each scenario returns the run whose history is saved. */
const scenarios: Record<string, (stack: Stack, webhookUrl: string) => Promise<Recorded>> = {
  async successful(stack, webhookUrl) {
    const id = await openOrder(stack, { webhook_url: webhookUrl }, ['signup_started', 'approved', 'completed']);
    await workflow(stack, id).result();
    return id;
  },
  async 'webhook-retried'(stack) {
    const receiver = await startReceiver();
    receiver.answerWith(() => (receiver.deliveries.length < 3 ? 500 : 200));
    const id = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started', 'declined']);
    await workflow(stack, id).result();
    await receiver.stop();
    return id;
  },
  async 'webhook-yields-to-next'(stack) {
    const receiver = await startReceiver();
    receiver.answerWith(({ body }) => (body.data.sequence === 1 ? 500 : 200));
    const id = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started']);
    await until(() => receiver.deliveries.length === 5, 'the receiver has got five attempts');
    await stack.api.cancel(id);
    await workflow(stack, id).result();
    await receiver.stop();
    return id;
  },
  async 'webhook-waits-for-its-endpoint'(stack) {
    let isSilent = true;
    const endpoint = await startTestServer((request, response) => {
      if (isSilent) request.socket.destroy();
      else response.end();
    });
    const id = await openOrder(stack, { webhook_url: endpoint.url }, ['signup_started']);
    const waits = `select from order_timeline where order_id = $1 and event = 'webhook_waits'`;
    await until(async () => (await stack.db.query(waits, [id])).rowCount, 'the webhook waits');
    await stack.api.cancel(id);
    isSilent = false;
    await workflow(stack, id).result();
    await endpoint.close();
    return id;
  },
  async 'webhook-resent-in-its-backoff'(stack) {
    const receiver = await startReceiver();
    receiver.answerWith(500);
    const id = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started']);
    await until(() => receiver.deliveries.length === 5, 'all attempts but the last one are made');
    for (let count = 6; count <= 7; count++) {
      if (count === 7) receiver.answerWith(200);
      await resendFirst(stack, id);
      await until(() => receiver.deliveries.length === count, 'the resend has arrived');
    }
    await stack.api.cancel(id);
    await workflow(stack, id).result();
    await receiver.stop();
    return id;
  },
  async 'webhook-resent-after-the-end'(stack, webhookUrl) {
    const id = await openOrder(stack, { webhook_url: webhookUrl }, ['failed']);
    await workflow(stack, id).result();
    await resendFirst(stack, id);
    await workflow(stack, id).result();
    return id;
  },
  async 'cancelled-after-the-end'(stack) {
    const id = await openOrder(stack, {}, ['failed']);
    await workflow(stack, id).result();
    await stack.api.cancel(id);
    await workflow(stack, id).result();
    return id;
  },
  async 'resumed-after-terminate'(stack, webhookUrl) {
    const id = await openOrder(stack, { webhook_url: webhookUrl }, ['signup_started']);
    await workflow(stack, id).terminate();
    await until(() => isRunning(stack.client, id), 'the sweep has resumed the order');
    await stack.api.progress(id, 'approved');
    await stack.api.progress(id, 'completed');
    await workflow(stack, id).result();
    return id;
  },
  async 'resumed-with-requests'(stack) {
    const id = await openOrder(stack, {}, ['signup_started']);
    await stack.stopWorker();
    await workflow(stack, id).signal(customerProgressSignal, { event: 'approved' });
    await workflow(stack, id).cancel();
    await workflow(stack, id).terminate();
    await stack.startWorker();
    await until(async () => (await stack.api.get(id)).body.data.status === 'UNSUCCESSFUL', 'the order is cancelled');
    await workflow(stack, id).result();
    return id;
  },
  async 'cancelled-natively'(stack, webhookUrl) {
    const id = await openOrder(stack, { webhook_url: webhookUrl }, ['signup_started']);
    await workflow(stack, id).cancel();
    await workflow(stack, id).result();
    return id;
  },
  async signals(stack) {
    const id = await openOrder(stack);
    await workflow(stack, id).signal(customerProgressSignal, { event: 'signup_started' });
    await workflow(stack, id).signal(customerProgressSignal, { event: 'completed' });
    await workflow(stack, id).signal(cancelSignal, { reason: 'fraud' });
    await workflow(stack, id).result();
    return id;
  },
  async 'decided-after-a-referral'(stack, webhookUrl) {
    const id = await applied(stack, 'referred@bloggs.example', { data: { webhook_url: webhookUrl } });
    await until(async () => (await queryOrder(stack.client, id))?.status === 'APPROVED', 'the order is approved');
    await stack.api.progress(id, 'completed');
    await workflow(stack, id).result();
    return id;
  },
  async 'decided-after-an-outage'(stack, webhookUrl) {
    const id = await applied(stack, 'outage@bloggs.example', { data: { webhook_url: webhookUrl } });
    await until(async () => (await queryOrder(stack.client, id))?.status === 'APPROVED', 'the order is approved');
    await stack.api.progress(id, 'completed');
    await workflow(stack, id).result();
    return id;
  },
  async 'paid-at-the-bank'(stack, webhookUrl) {
    const { id, customer } = await newCustomer(stack, { webhook_url: webhookUrl });
    await customer.leaveAtBank(await customer.startPayment(), 'slow');
    await workflow(stack, id).result();
    return id;
  },
  async 'cancelled-while-the-lender-is-unavailable'(stack, webhookUrl) {
    const id = await applied(stack, 'outage@bloggs.example', { data: { webhook_url: webhookUrl } });
    await until(
      async () => (await workflow(stack, id).describe()).raw.pendingActivities?.length,
      'the workflow polls the lender',
    );
    await stack.api.cancel(id);
    await workflow(stack, id).result();
    return id;
  },
  async 'resumed-while-referred'(stack) {
    // Otherwise the customer could still pay now.
    const data = { allowed_payment_terms: ['PAY_LATER'] };
    const id = await applied(stack, 'referred-declined@bloggs.example', { data });
    await until(async () => (await findApplication(stack.db, id))?.referredAt, 'the application is referred');
    await workflow(stack, id).terminate();
    await until(() => isRunning(stack.client, id), 'the sweep has resumed the order');
    await workflow(stack, id).result();
    return id;
  },
  async 'saved-again'(stack, webhookUrl) {
    const id = await openOrder(stack, { webhook_url: webhookUrl }, ['signup_started']);
    await inTransaction(stack.db, (client) => setBack(client, id, 1, 'CREATED'));
    await workflow(stack, id).signal(saveAgainSignal);
    await until(async () => (await versionOfRow(stack, id)) === 2, 'the row is brought forward');
    await stack.api.cancel(id);
    await workflow(stack, id).result();
    return id;
  },
  async 'stopped-behind-its-row'(stack) {
    const id = await openOrder(stack, {}, ['signup_started']);
    const { runId } = await workflow(stack, id).describe();
    await approveInRow(stack.db, id, '0');
    await workflow(stack, id).signal(cancelSignal);
    await until(async () => (await versionOfRow(stack, id)) === 4, 'the next run has cancelled the order');
    return { id, runId };
  },
  async 'continues-as-new'(stack) {
    const { id, runId } = await continued(stack);
    return { id, runId };
  },
  async 'continued-as-new'(stack) {
    const { id } = await continued(stack);
    await stack.api.progress(id, 'approved');
    return id;
  },
  async 'still-open'(stack) {
    return openOrder(stack, {}, ['signup_started', 'approved']);
  },
};

/** An order whose run has continued as new, and the run before. */
async function continued(stack: Stack): Promise<{ id: string; runId: string }> {
  const id = await openOrder(stack, {}, ['signup_started']);
  const { runId } = await workflow(stack, id).describe();
  const isContinued = async () => {
    await Promise.all(Array.from({ length: 100 }, () => workflow(stack, id).signal('fill-the-history')));
    return (await workflow(stack, id).describe()).runId !== runId;
  };
  await until(isContinued, 'the run continues as new');
  await until(() => queryOrder(stack.client, id), 'the new run has read the row');
  return { id, runId };
}

/** An order that expires, once its payment has failed. */
async function expiredAfterPayment(stack: Stack): Promise<string> {
  const id = await openOrder(stack, {}, ['signup_started']);
  await upsertPaymentTerm(stack.db, id, 'PAY_NOW');
  const { rows } = await stack.db.query<{ id: string }>(
    `insert into payment (order_id, bank, status) values ($1, 'oak', 'processing') returning id`,
    [id],
  );
  await delay(4000);
  await recordPaymentStatus(stack.db, rows[0]!.id, 'refused', 600_000);
  await workflow(stack, id).result();
  return id;
}

/** The names of all scenarios. */
export const SCENARIOS = [...Object.keys(scenarios), 'expired', 'expired-after-a-payment'];

async function record(prefix: string, only: readonly string[]): Promise<void> {
  const isWanted = (name: string): boolean => only.length === 0 || only.includes(name);
  await globalSetup();
  const receiver = await startReceiver();
  const stack = await startCheckout({
    env: {
      WEBHOOK_RETRY_DELAYS: '0,0.2,0.2,0.2,0.2,60',
      WEBHOOK_BREAKER_FAILURES: '2',
      WEBHOOK_BREAKER_MIN_WAIT_MS: '2000',
      WEBHOOK_BREAKER_MAX_WAIT_MS: '2000',
    },
  });
  const expiring = await startStack({ env: { ORDER_EXPIRES_AFTER_MS: '1000' } });
  for (const [name, scenario] of Object.entries(scenarios)) {
    if (!isWanted(name)) continue;
    await save(stack, `${prefix}-${name}`, await scenario(stack, receiver.url));
  }
  if (isWanted('expired')) {
    const expired = await openOrder(expiring, { webhook_url: receiver.url }, ['signup_started']);
    await workflow(expiring, expired).result();
    await save(expiring, `${prefix}-expired`, expired);
  }
  if (isWanted('expired-after-a-payment')) {
    await save(expiring, `${prefix}-expired-after-a-payment`, await expiredAfterPayment(expiring));
  }
  await Promise.all([stack.stop(), expiring.stop(), receiver.stop()]);
  await globalTeardown();
}

async function save(stack: Stack, name: string, run: Recorded): Promise<void> {
  const { id, runId } = typeof run === 'string' ? { id: run, runId: undefined } : run;
  const history = await stack.client.workflow.getHandle(`order-${id}`, runId).fetchHistory();
  // The SDK's historyToJSON fails if npm installs it a different protobufjs than @temporalio/proto.
  const plain = temporal.api.history.v1.History.toObject(history as never, {
    bytes: String,
    longs: String,
    enums: String,
  });
  await writeFile(path.join(FOLDER, `${name}.json`), `${JSON.stringify(plain, withoutMachineNames)}\n`);
  console.log(`${name}: ${history.events?.length ?? 0} events`);
}

/** Removes the names of processes and machines, and their paths, which a replay does not need. */
function withoutMachineNames(key: string, value: unknown): unknown {
  if (key === 'identity' || key === 'stackTrace') return '';
  return key === 'name' && typeof value === 'string' ? value.replace(/^\d+@.*-(?=\w+$)/, 'sticky-') : value;
}

if (require.main === module) {
  const [, , prefix, ...only] = process.argv;
  if (!prefix) {
    console.error('usage: npm run record-histories -- <prefix> [<scenario>…], for example v1.0');
    process.exit(1);
  }
  exitWith(record(prefix, only).then(() => 0));
}
