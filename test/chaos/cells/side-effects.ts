import { randomUUID } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { constants } from '../../support/constants';
import { until } from '../../support/until';
import type { Cell, Scene } from '../cell';
import { acknowledged } from '../ledger';
import { restart } from '../part';
import type { KillPoint } from '../preload/kill-at';
import { CHAOS_CONSTANTS, type ChaosStack } from '../stack';

const STRUCK_WITHIN_MS = 60_000;
const PROVOKE_MS = 200;
/** Odd seeds kill the process after each side effect, and even ones before it. */
const WHEN = ['after', 'before'] as const;

interface SideEffect extends Pick<KillPoint, 'effect' | 'match'> {
  name: string;
  /** The largest number of the side effect that is hit; default 8. */
  most?: number;
  /** Makes it happen, if the load does so rarely. It acts as an operator, again and again. */
  provoke?: (scene: Scene) => Promise<unknown>;
}

const signal = ({ client }: ChaosStack, orderId: string, ...[name, input]: [string, object]): Promise<void> =>
  client.workflow.getHandle(`order-${orderId}`).signal(name, input);

/** A worker resumes the order then. */
const terminateOne = async ({ stack, random, ledger }: Scene): Promise<unknown> =>
  stack.client.workflow.getHandle(`order-${random.pick(acknowledged(ledger)).id}`).terminate('chaos');

/** As if the API had ended before it started the workflow. */
const requestStart = async ({ stack, random, ledger }: Scene): Promise<unknown> =>
  stack.db.query(
    `insert into start_request (order_id, seller_id, created_at)
     select id, seller_id, now() - interval '1 minute' from orders where id = $1 on conflict do nothing`,
    [random.pick(acknowledged(ledger)).id],
  );

const CHANGE = '/(UpdateWorkflowExecution|ExecuteMultiOperation) ';

const OF_ORDERS: SideEffect[] = [
  { effect: 'write', match: 'insert into orders', name: 'it stores a new order' },
  { effect: 'call', match: '/StartWorkflowExecution ', name: 'it starts a workflow' },
  { effect: 'write', match: 'delete from start_request', name: 'it deletes a start request' },
  { effect: 'call', match: CHANGE, name: 'it sends a change to a workflow' },
  {
    effect: 'call',
    match: '/SignalWithStartWorkflowExecution .*resendWebhook',
    name: 'it passes on a resend',
    most: 1,
  },
];

const OF_PAGES: SideEffect[] = [
  { effect: 'write', match: 'update application set business_name', name: 'it stores an application', most: 1 },
  {
    effect: 'write',
    match: 'update application set agreed_at = coalesce\\(agreed_at, \\$2',
    name: 'it stores an agreement',
    most: 1,
  },
  { effect: 'write', match: 'insert into application \\(', name: 'it stores the method of payment', most: 2 },
  { effect: 'call', match: '/SignalWithStartWorkflowExecution .*proceed', name: 'it starts a checkout', most: 1 },
  { effect: 'write', match: 'insert into payment \\(', name: 'it stores a payment', most: 1 },
];

const OF_CHECKOUTS: SideEffect[] = [
  { effect: 'write', match: 'with saved as', name: 'it saves a change' },
  {
    effect: 'write',
    match: 'update application set referred_at',
    name: 'it stores that the lender needs time',
    most: 1,
  },
  { effect: 'write', match: 'update application set decision', name: 'it stores a decision', most: 2 },
  { effect: 'call', match: CHANGE, name: 'its checkout reports a result to an order', most: 2 },
];

const OF_DELIVERIES: SideEffect[] = [
  { effect: 'send', match: 'webhook', name: 'it sends a webhook' },
  { effect: 'write', match: 'insert into webhook_attempt', name: 'it records an attempt' },
  {
    effect: 'write',
    match: 'update webhook_event set next_attempt_at = null, state',
    name: 'it gives up a webhook for the next one',
    most: 2,
  },
];

const OF_OPERATORS: SideEffect[] = [
  {
    effect: 'write',
    match: 'insert into order_timeline \\(refusal_id',
    name: 'it records a refusal',
    most: 3,
    provoke: ({ stack, random, ledger }) =>
      signal(stack, random.pick(acknowledged(ledger)).id, 'customerProgress', { event: 'nonsense' }),
  },
  {
    effect: 'write',
    match: 'sandbox_payment (as p|set refunded_at)',
    name: 'it has the bank reverse a payment',
    most: 2,
    provoke: async ({ stack }) => {
      const { rows } = await stack.db.query<{ id: string }>(
        // Of a customer who is at the bank.
        `select order_id as id from payment p join sandbox_payment b using (id)
         where closed_at is null and return_url is not null order by p.started_at desc limit 1`,
      );
      if (rows[0]) await signal(stack, rows[0].id, 'cancel', { reason: 'chaos' });
    },
  },
  {
    effect: 'write',
    match: 'delete from start_request',
    name: 'it deletes the request of an order that it has started',
    most: 3,
    provoke: requestStart,
  },
  { effect: 'call', match: '/StartWorkflowExecution ', name: 'it resumes an order', most: 2, provoke: terminateOne },
];

/**
 * Kills a process at one side effect after the other.
 * @param victimOf the process
 * @param env its settings until it is killed
 */
function killAt(
  sideEffects: readonly SideEffect[],
  victimOf: (stack: ChaosStack) => ChaosStack['apis'][0],
  env: Record<string, string> = {},
): Pick<Cell, 'variants' | 'strike'> {
  return {
    variants: WHEN,
    async strike(scene) {
      const { stack, random, variant } = scene;
      const victim = victimOf(stack);
      for (const sideEffect of sideEffects) {
        const { effect, match, most = 8 } = sideEffect;
        const armedBy = path.join(tmpdir(), `chaos-armed-${randomUUID()}`);
        const when = variant as KillPoint['when'];
        const point: KillPoint = { effect, match, when, nth: random.between(1, most), armedBy };
        victim.relaunchWith({ preload: 'kill-at', env: { ...env, CHAOS_KILL_AT: JSON.stringify(point) } });
        // After a kill, it does not run.
        await restart(victim, 'SIGTERM', random.between(0, 1500));
        await untilKilled(victim, scene, sideEffect, armedBy);
      }
      victim.relaunchWith({});
      await victim.start();
    },
  };
}

async function untilKilled(
  victim: ChaosStack['apis'][0],
  scene: Scene,
  { name, provoke }: SideEffect,
  armedBy: string,
): Promise<void> {
  victim.expectEnd();
  writeFileSync(armedBy, '');
  // A closed workflow takes no signal.
  const provoking = provoke && setInterval(() => void provoke(scene).catch(() => undefined), PROVOKE_MS);
  try {
    await until(() => !victim.isRunning(), `${victim.name} is killed ${scene.variant} ${name}`, STRUCK_WITHIN_MS);
  } finally {
    clearInterval(provoking);
    rmSync(armedBy);
  }
  if (victim.hasExited()) throw new Error(`${victim.name} ended by itself, and not by the kill`);
}

/** A browser sends its requests to the APIs in turns: its pages come from the first one, and most of its forms reach the second. */
const secondApi = ({ apis }: ChaosStack) => apis[1];
const firstWorker = ({ workers }: ChaosStack) => workers[0];

export const SIDE_EFFECT_CELLS: Cell[] = [
  { name: 'SIGKILL an API at side effects of orders', ...killAt(OF_ORDERS, secondApi) },
  { name: 'SIGKILL an API at side effects of checkout pages', ...killAt(OF_PAGES, secondApi) },
  {
    name: 'SIGKILL a worker at side effects of changes and checkouts',
    ...killAt(OF_CHECKOUTS, firstWorker),
    usualLenderOutcome: 'referred',
    spares: 'API',
  },
  {
    name: 'SIGKILL a worker at side effects of deliveries',
    // Only flaky receivers fail, once.
    ...killAt(
      OF_DELIVERIES,
      firstWorker,
      constants({ ...CHAOS_CONSTANTS, webhookSchedule: { attemptsWithSuccessor: 1 } }),
    ),
    spares: 'API',
    allowed: () => ({ undelivered: (url) => (/\/(flaky|busy)$/.test(url) ? ['exhausted'] : []) }),
  },
  {
    name: 'SIGKILL a worker at side effects of operators and background jobs',
    ...killAt(OF_OPERATORS, firstWorker),
    spares: 'API',
    // A run that is terminated takes its resends with it.
    allowed: () => ({ operators: true, failedRuns: 'all' }),
  },
];
