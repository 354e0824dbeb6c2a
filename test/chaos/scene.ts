import { setTimeout as delay } from 'node:timers/promises';
import { openOrder, statusOf } from '../support/orders';
import type { ServiceProcess } from '../support/processes';
import { startProcess } from '../support/processes';
import type { Proxy } from '../support/proxy';
import { startProxy } from '../support/proxy';
import type { Stack } from '../support/stack';
import { startStack } from '../support/stack';
import { until } from '../support/until';
import type { Plan } from './plan';
import type { CallKey, HoldingReceiver } from './receiver';
import { startHoldingReceiver } from './receiver';

/** Seconds before each attempt; after five a webhook can only give way. */
const DELAYS = '0,0.4,0.4,0.4,0.4,60';
/** Longer than the slowest way to heal: a lost attempt is made again after 40 s. */
const HEALED_WITHIN_MS = 150_000;

export interface EventRow {
  id: string;
  sequence: number;
  state: string;
  attempts: number;
}

/** A stack of a run's own with its orders, its receiver, and a worker process that is to be killed. */
export interface Scene {
  stack: Stack;
  receiver: HoldingReceiver;
  /** Between the worker and Temporal. */
  proxy: Proxy;
  orders: string[];
  victim: string;
  /** The call for the victim's webhook at which the worker is killed. */
  target: CallKey;
  /** Reports the order's next events behind the caller's back, up to that of webhook `sequence` or all. */
  report: (order: string, sequence?: number) => void;
  eventsOf: (order: string) => Promise<EventRow[]>;
  /** The victim's. */
  eventOf: (sequence: number) => Promise<EventRow | undefined>;
  /** Brings the victim before its webhook `sequence`, and the others on their way. */
  begin: () => Promise<void>;
  kill: () => Promise<void>;
  /**
   * Starts a new worker and waits until every order is through.
   * @returns ms since the kill
   */
  heal: () => Promise<number>;
  close: () => Promise<void>;
}

export async function setScene(plan: Plan): Promise<Scene> {
  const { moment, events, sequence, failures } = plan;
  const givesWay = moment.needs === 'to give way';
  const stack = await startStack({ worker: false, env: { WEBHOOK_RETRY_DELAYS: DELAYS, ...moment.env } });
  const statusFor = ({ order, ...key }: CallKey): number =>
    key.nth <= failures || (givesWay && order === victim && key.sequence === sequence) ? 500 : 200;
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
      // Told to whoever waits for the orders to be through.
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
      }, 'the webhooks before the one that is struck are delivered');
      for (const order of orders) if (order !== victim) scene.report(order);
    },
    async kill() {
      await delay(plan.killAfterMs);
      expect(workers[0]!.exitCode()).toBeNull();
      killedAt = performance.now();
      await workers[0]!.signal('SIGKILL');
      proxy.stop();
      // Else it would have come too late to be in the middle of anything.
      expect(await statusOf(stack.client, victim)).toBe('RUNNING');
    },
    async heal() {
      workers.push(await startWorker(stack, process.env.TEST_TEMPORAL_ADDRESS!));
      await Promise.all(reports.values());
      for (const order of orders) {
        const isThrough = async (): Promise<boolean> => (await statusOf(stack.client, order)) === 'COMPLETED';
        await until(isThrough, `order ${order} is through`, HEALED_WITHIN_MS);
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
  return startProcess('worker', {
    ...stack.env,
    TEMPORAL_ADDRESS: address,
    TEMPORAL_NAMESPACE: stack.temporal.namespace!,
  });
}

/** As the checkout would: a call that was not answered is repeated. */
async function reportEvent({ api }: Stack, order: string, event: string): Promise<void> {
  const isReported = async (): Promise<boolean> => {
    const { status, text } = await api.progress(order, event);
    if (status !== 200 && status !== 503) throw new Error(text);
    return status === 200;
  };
  await until(isReported, `${event} of order ${order} is reported`, HEALED_WITHIN_MS);
}
