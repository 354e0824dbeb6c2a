import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { openOrder, statusOf } from '../../support/orders';
import { type ServiceProcess, startProcess } from '../../support/processes';
import { type Proxy, startProxy } from '../../support/proxy';
import { type Stack, startStack } from '../../support/stack';
import { until } from '../../support/until';
import type { Plan } from './plan';
import { type CallKey, type HoldingReceiver, startHoldingReceiver } from './receiver';

/** Seconds before each attempt. After five attempts a webhook with a successor yields. */
const DELAYS = '0,0.4,0.4,0.4,0.4,60';
/** Longer than the slowest recovery: a lost attempt is repeated after 30 s. */
const RECOVERED_WITHIN_MS = 150_000;

export interface EventRow {
  id: string;
  sequence: number;
  state: string;
  attempts: number;
}

/** A stack for one run, with its orders, its receiver and the worker process that is killed. */
export interface Scene {
  stack: Stack;
  receiver: HoldingReceiver;
  /** The connection between the worker and Temporal. */
  proxy: Proxy;
  orders: string[];
  victim: string;
  /** The call for the victim's webhook during which the worker is killed. */
  target: CallKey;
  /** Reports the order's next events in the background: all, or up to the one of webhook `sequence`. */
  report: (order: string, sequence?: number) => void;
  eventsOf: (order: string) => Promise<EventRow[]>;
  /** Returns one of the victim's events. */
  eventOf: (sequence: number) => Promise<EventRow | undefined>;
  /** Delivers the victim's webhooks before `sequence`, and starts the events of all other orders. */
  begin: () => Promise<void>;
  kill: () => Promise<void>;
  /**
   * Starts a new worker and waits until every workflow has completed.
   * @returns ms since the kill
   */
  recover: () => Promise<number>;
  close: () => Promise<void>;
}

export async function createScene(plan: Plan): Promise<Scene> {
  const { moment, events, sequence, failures } = plan;
  const yields = moment.needs === 'a successor';
  const stack = await startStack({ worker: false, env: { WEBHOOK_RETRY_DELAYS: DELAYS, ...moment.env } });
  const statusFor = ({ order, ...key }: CallKey): number =>
    key.nth <= failures || (yields && order === victim && key.sequence === sequence) ? 500 : 200;
  const receiver = await startHoldingReceiver(plan.answerMs, statusFor);
  const proxy = await startProxy(process.env.TEST_TEMPORAL_ADDRESS!);
  const workers: ServiceProcess[] = [await startWorker(stack, proxy.address)];
  const open = (): Promise<string> => openOrder(stack, { webhook_url: receiver.url });
  const victim = await open();
  const orders = [victim, ...(await Promise.all(Array.from({ length: plan.bystanders }, open)))];
  const reports = new Map<string, Promise<number>>();
  let killedAt = 0;

  const scene: Scene = {
    stack,
    receiver,
    proxy,
    orders,
    victim,
    target: { order: victim, sequence, nth: plan.attempt },
    report(order, upTo = events.length) {
      const report = (reports.get(order) ?? Promise.resolve(0)).then(async (from) => {
        for (const event of events.slice(from, upTo)) await reportEvent(stack, order, event);
        return upTo;
      });
      // `recover` awaits the reports and gets the error.
      report.catch(() => undefined);
      reports.set(order, report);
    },
    async eventsOf(order) {
      const { rows } = await stack.db.query<EventRow>(
        'select id, sequence, state, attempts from webhook_event where order_id = $1 order by sequence',
        [order],
      );
      return rows;
    },
    eventOf: async (wanted) => (await scene.eventsOf(victim)).find((event) => event.sequence === wanted),
    async begin() {
      const before = sequence - 1;
      scene.report(victim, before);
      await until(async () => {
        const rows = await scene.eventsOf(victim);
        return rows.length === before && rows.every(({ state }) => state === 'delivered');
      }, 'the webhooks before the target are delivered');
      for (const order of orders) if (order !== victim) scene.report(order);
    },
    async kill() {
      await delay(plan.killAfterMs);
      assert.equal(workers[0]!.exitCode(), null);
      killedAt = performance.now();
      await workers[0]!.signal('SIGKILL');
      proxy.stop();
      // If the workflow had completed, the kill would have come too late.
      assert.equal(await statusOf(stack.client, victim), 'RUNNING');
    },
    async recover() {
      workers.push(await startWorker(stack, process.env.TEST_TEMPORAL_ADDRESS!));
      await Promise.all(reports.values());
      for (const order of orders) {
        const isCompleted = async (): Promise<boolean> => (await statusOf(stack.client, order)) === 'COMPLETED';
        await until(isCompleted, `the workflow of order ${order} is completed`, RECOVERED_WITHIN_MS);
      }
      return performance.now() - killedAt;
    },
    async close() {
      for (const worker of workers) await worker.signal('SIGKILL');
      proxy.stop();
      await stack.stop();
      await receiver.stop();
    },
  };
  return scene;
}

function startWorker(stack: Stack, address: string): Promise<ServiceProcess> {
  return startProcess('worker', { ...stack.env, TEMPORAL_ADDRESS: address });
}

/** Repeats a report that gets a 503, like the checkout. */
async function reportEvent({ api }: Stack, order: string, event: string): Promise<void> {
  const isReported = async (): Promise<boolean> => {
    const { status, text } = await api.progress(order, event);
    if (status !== 200 && status !== 503) throw new Error(text);
    return status === 200;
  };
  await until(isReported, `${event} of order ${order} is reported`, RECOVERED_WITHIN_MS);
}
