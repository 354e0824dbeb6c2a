import { randomUUID } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { temporal } from '@temporalio/proto';
import { holdOrder } from '../../src/db/orders';
import { PACKAGE_ROOT } from '../../src/package';
import { ORDER_TASK_QUEUE, cancelSignal, customerProgressSignal } from '../../workflows/messages';
import type { resendWebhooksWorkflow } from '../../workflows/resend-webhooks-workflow';
import { applied, newCustomer, startCheckout } from './checkout';
import { exitWith } from './exit-with';
import globalSetup from './global-setup';
import globalTeardown from './global-teardown';
import { approveInRow, isRunning, openOrder, queryOrder, resendFirst } from './orders';
import { type Receiver, startReceiver } from './receiver';
import type { Stack } from './stack';
import { until } from './until';

/**
 * `npm run record-histories -- <prefix> [<scenario>…]`: runs workflows on real servers and saves each one's history to
 * test/histories/ for the replay test. Add files with every release, and never change existing ones.
 */
const FOLDER = path.join(PACKAGE_ROOT, 'test/histories');
/** When an order expires: later than a loaded machine takes to open one. */
const soon = (): Date => new Date(Date.now() + 15_000);

const workflow = ({ client }: Stack, id: string) => client.workflow.getHandle(`order-${id}`);
const checkout = ({ client }: Stack, id: string) => client.workflow.getHandle(`checkout-${id}`);

/** The run whose history is saved; by default, the newest one. */
interface Recorded {
  workflowId: string;
  runId?: string;
}
const order = (id: string): Recorded => ({ workflowId: `order-${id}` });

/** Runs a workflow. The receiver answers 200 until it is told otherwise. */
type Scenario = (stack: Stack, receiver: Receiver) => Promise<Recorded>;

const scenarios: Record<string, Scenario> = {
  async successful(stack, { url }) {
    const id = await openOrder(stack, { webhook_url: url }, ['signup_started', 'approved', 'completed']);
    return ended(stack, id);
  },
  async cancelled(stack, { url }) {
    const id = await openOrder(stack, { webhook_url: url }, ['signup_started']);
    await stack.api.cancel(id);
    return ended(stack, id);
  },
  async 'cancelled-after-the-end'(stack) {
    const id = await openOrder(stack, {}, ['signup_started', 'declined']);
    await workflow(stack, id).result();
    await stack.api.cancel(id);
    return ended(stack, id);
  },
  async 'cancelled-natively'(stack, { url }) {
    const id = await openOrder(stack, { webhook_url: url }, ['signup_started']);
    await workflow(stack, id).cancel();
    return ended(stack, id);
  },
  async signals(stack) {
    const id = await openOrder(stack);
    await workflow(stack, id).signal(customerProgressSignal, { event: 'signup_started' });
    await workflow(stack, id).signal(customerProgressSignal, { event: 'completed' });
    await workflow(stack, id).signal(cancelSignal, { reason: 'fraud' });
    return ended(stack, id);
  },
  async expired(stack, { url }) {
    const id = await openOrder(stack, { webhook_url: url, expires_at: soon().toISOString() }, ['signup_started']);
    return ended(stack, id);
  },
  async 'expiry-held'(stack) {
    const expiry = soon();
    const id = await openOrder(stack, { expires_at: expiry.toISOString() }, ['signup_started']);
    await holdOrder(stack.db, id, new Date(expiry.getTime() + 3000));
    return ended(stack, id);
  },
  async 'webhook-retried'(stack, receiver) {
    receiver.answerWith(() => (receiver.deliveries.length < 3 ? 500 : 200));
    const id = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started', 'declined']);
    return ended(stack, id);
  },
  async 'webhook-waits-when-the-next-one-comes'(stack, receiver) {
    receiver.answerWith(({ body }) => (body.data.sequence === 1 ? 500 : 200));
    const id = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started']);
    await until(() => receiver.deliveries.length === 5, 'the receiver has got five attempts');
    await stack.api.cancel(id);
    return ended(stack, id);
  },
  async 'webhook-resent-while-it-waits'(stack, receiver) {
    receiver.answerWith(500);
    const id = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started']);
    await until(() => receiver.deliveries.length === 5, 'all attempts but the last one are made');
    for (let count = 6; count <= 7; count++) {
      if (count === 7) receiver.answerWith(200);
      await resendFirst(stack, id);
      await until(() => receiver.deliveries.length === count, 'the resend has arrived');
    }
    await stack.api.cancel(id);
    return ended(stack, id);
  },
  async 'webhook-resent-after-the-end'(stack, receiver) {
    const id = await openOrder(stack, { webhook_url: receiver.url }, ['failed']);
    await workflow(stack, id).result();
    await resendFirst(stack, id);
    await until(() => receiver.deliveries.length === 2, 'the resend has arrived');
    return ended(stack, id);
  },
  async 'webhooks-resent'(stack, { url }) {
    const since = new Date().toISOString();
    for (let count = 0; count < 2; count++) {
      const id = await openOrder(stack, { webhook_url: url }, ['signup_started', 'failed']);
      await workflow(stack, id).result();
    }
    const { workflowId } = await stack.client.workflow.start<typeof resendWebhooksWorkflow>('resendWebhooksWorkflow', {
      taskQueue: ORDER_TASK_QUEUE,
      workflowId: `resend-webhooks-${randomUUID()}`,
      args: [{ sellerId: stack.seller.id, state: 'delivered', since }],
    });
    await stack.client.workflow.getHandle(workflowId).result();
    return { workflowId };
  },
  async 'resumed-after-terminate'(stack, { url }) {
    const id = await openOrder(stack, { webhook_url: url }, ['signup_started']);
    await workflow(stack, id).terminate();
    await until(() => isRunning(stack.client, id), 'a worker has resumed the order');
    await stack.api.progress(id, 'approved');
    await stack.api.progress(id, 'completed');
    return ended(stack, id);
  },
  async 'row-changed'(stack) {
    const id = await openOrder(stack, {}, ['signup_started']);
    const { runId } = await workflow(stack, id).describe();
    await approveInRow(stack.db, id, '0');
    await workflow(stack, id).signal(cancelSignal);
    await until(async () => (await workflow(stack, id).describe()).runId !== runId, 'a new run has read the row');
    return { ...order(id), runId };
  },
  async 'continues-as-new'(stack) {
    const { id, runId } = await continued(stack);
    return { ...order(id), runId };
  },
  async 'continued-as-new'(stack) {
    const { id } = await continued(stack);
    await stack.api.progress(id, 'approved');
    return order(id);
  },
  async 'still-open'(stack, { url }) {
    return order(await openOrder(stack, { webhook_url: url }, ['signup_started', 'approved']));
  },
  async 'checkout-approved'(stack) {
    return decided(stack, 'approved@bloggs.example', 'APPROVED');
  },
  async 'checkout-referred'(stack) {
    return decided(stack, 'referred@bloggs.example', 'APPROVED');
  },
  async 'checkout-paid'(stack) {
    const { id, customer } = await newCustomer(stack);
    await customer.leaveAtBank(await customer.startPayment(), 'slow');
    await workflow(stack, id).result();
    await checkout(stack, id).result();
    return { workflowId: `checkout-${id}` };
  },
  async 'checkout-refunded'(stack) {
    const { id, customer } = await newCustomer(stack);
    await customer.leaveAtBank(await customer.startPayment(), 'slow');
    await stack.api.cancel(id);
    await checkout(stack, id).result();
    const { rows } = await stack.db.query('select status from payment where order_id = $1', [id]);
    if (rows[0]?.status !== 'refunded') throw new Error(`the payment is ${String(rows[0]?.status)}`);
    return { workflowId: `checkout-${id}` };
  },
};

async function ended(stack: Stack, id: string): Promise<Recorded> {
  await workflow(stack, id).result();
  return order(id);
}

/** The checkout of an order on which the lender has decided. */
async function decided(stack: Stack, email: string, status: string): Promise<Recorded> {
  const id = await applied(stack, email);
  await until(async () => (await queryOrder(stack.client, id))?.status === status, `the order is ${status}`);
  await checkout(stack, id).result();
  return { workflowId: `checkout-${id}` };
}

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

/** The names of all scenarios. */
export const SCENARIOS = Object.keys(scenarios);

async function record(prefix: string, only: readonly string[]): Promise<void> {
  await globalSetup();
  await mkdir(FOLDER, { recursive: true });
  const stack = await startCheckout({
    env: { WEBHOOK_RETRY_DELAYS: '0,0.2,0.2,0.2,0.2,60', SANDBOX_REFERRAL_MS: '8000' },
  });
  for (const [name, scenario] of Object.entries(scenarios)) {
    if (only.length > 0 && !only.includes(name)) continue;
    const receiver = await startReceiver();
    await save(stack, `${prefix}-${name}`, await scenario(stack, receiver));
    await receiver.stop();
  }
  await stack.stop();
  await globalTeardown();
}

async function save(stack: Stack, name: string, { workflowId, runId }: Recorded): Promise<void> {
  const history = await stack.client.workflow.getHandle(workflowId, runId).fetchHistory();
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
