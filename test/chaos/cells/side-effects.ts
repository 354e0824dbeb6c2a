import { randomUUID } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { until } from '../../support/until';
import type { Cell, Scene } from '../cell';
import { acknowledged } from '../ledger';
import type { KillPoint } from '../preload/kill-at';
import type { ChaosStack } from '../stack';

const STRUCK_WITHIN_MS = 60_000;
const PROVOKE_MS = 200;
/** Odd seeds kill the process after the side effect, and even ones before it. */
const WHEN = ['after', 'before'] as const;

interface SideEffect extends Pick<KillPoint, 'effect' | 'match'>, Pick<Cell, 'usualLenderOutcome'> {
  of: 'API' | 'worker';
  name: string;
  /** The largest number of the side effect that is hit; default 20. */
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

/** The side effects of create, change, checkout, delivery and background jobs. */
const SIDE_EFFECTS: SideEffect[] = [
  { of: 'API', effect: 'write', match: 'insert into orders', name: 'it stores a new order' },
  { of: 'API', effect: 'call', match: '/StartWorkflowExecution ', name: 'it starts a workflow' },
  { of: 'API', effect: 'write', match: 'delete from start_request', name: 'it deletes a start request' },
  {
    of: 'API',
    effect: 'call',
    match: '/(UpdateWorkflowExecution|ExecuteMultiOperation) ',
    name: 'it sends a change to a workflow',
  },
  {
    of: 'API',
    effect: 'call',
    match: '/SignalWithStartWorkflowExecution .*resendWebhook',
    name: 'it passes on a resend',
    most: 1,
  },
  {
    of: 'API',
    effect: 'write',
    match: 'update application set business_name',
    name: 'it stores an application',
    most: 1,
  },
  {
    of: 'API',
    effect: 'write',
    match: 'update application set agreed_at = coalesce\\(agreed_at, \\$2',
    name: 'it stores an agreement',
    most: 1,
  },
  {
    of: 'API',
    effect: 'write',
    match: 'insert into application \\(',
    name: 'it stores the method of payment',
    most: 2,
  },
  {
    of: 'API',
    effect: 'call',
    match: '/SignalWithStartWorkflowExecution .*proceed',
    name: 'it starts a checkout',
    most: 1,
  },
  { of: 'API', effect: 'write', match: 'insert into payment \\(', name: 'it stores a payment', most: 1 },
  { of: 'worker', effect: 'write', match: 'with saved as', name: 'it saves a change' },
  {
    of: 'worker',
    effect: 'write',
    match: 'insert into order_timeline \\(refusal_id',
    name: 'it records a refusal',
    most: 3,
    provoke: ({ stack, random, ledger }) =>
      signal(stack, random.pick(acknowledged(ledger)).id, 'customerProgress', { event: 'nonsense' }),
  },
  {
    of: 'worker',
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
  { of: 'worker', effect: 'write', match: 'update application set decision', name: 'it stores a decision', most: 2 },
  {
    of: 'worker',
    effect: 'write',
    match: 'update application set referred_at',
    name: 'it stores that the lender needs time',
    most: 1,
    usualLenderOutcome: 'referred',
  },
  {
    of: 'worker',
    effect: 'call',
    match: '/(UpdateWorkflowExecution|ExecuteMultiOperation) ',
    name: 'its checkout reports a result to an order',
    most: 2,
  },
  { of: 'worker', effect: 'send', match: 'webhook', name: 'it sends a webhook' },
  { of: 'worker', effect: 'write', match: 'insert into webhook_attempt', name: 'it records an attempt' },
  {
    of: 'worker',
    effect: 'write',
    match: 'delete from start_request',
    name: 'it deletes the request of an order that it has started',
    most: 3,
    provoke: requestStart,
  },
  {
    of: 'worker',
    effect: 'call',
    match: '/StartWorkflowExecution ',
    name: 'it resumes an order',
    most: 2,
    provoke: terminateOne,
  },
];

/** A browser sends its requests to the APIs in turns: its pages come from the first one, and most of its forms reach the second. */
const victimOf = ({ stack }: Scene, of: SideEffect['of']): ChaosStack['apis'][0] =>
  of === 'API' ? stack.apis[1] : stack.workers[0];

export const SIDE_EFFECT_CELLS: Cell[] = SIDE_EFFECTS.map(
  ({ of, effect, match, name, most = 20, provoke, usualLenderOutcome }): Cell => ({
    name: `SIGKILL ${of === 'API' ? 'an API' : 'a worker'} when ${name}`,
    group: 'side effects',
    variants: WHEN,
    ...(usualLenderOutcome && { usualLenderOutcome }),
    async prepare(scene) {
      const armedBy = path.join(tmpdir(), `chaos-armed-${randomUUID()}`);
      scene.memory.set('armedBy', armedBy);
      const when = scene.variant as KillPoint['when'];
      const point: KillPoint = { effect, match, when, nth: scene.random.between(1, most), armedBy };
      const victim = victimOf(scene, of);
      victim.relaunchWith({ preload: 'kill-at', env: { CHAOS_KILL_AT: JSON.stringify(point) } });
      await victim.end('SIGTERM');
      await victim.start();
    },
    async strike(scene) {
      const victim = victimOf(scene, of);
      const armedBy = scene.memory.get('armedBy') as string;
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
      victim.relaunchWith({});
      await delay(scene.random.between(0, 1500));
      await victim.start();
    },
    ...(of === 'worker' && { spares: 'API' as const }),
    // A run that is terminated takes its resends with it.
    ...(provoke && { allowed: () => ({ operators: true, failedRuns: 'all' as const }) }),
  }),
);
