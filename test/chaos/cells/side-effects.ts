import { randomUUID } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { until } from '../../support/until';
import type { Cell, Scene } from '../cell';
import { acknowledged } from '../ledger';
import type { KillPoint } from '../preload/kill-at';
import type { Mode } from '../receiver';
import type { ChaosStack } from '../stack';

const STRUCK_WITHIN_MS = 60_000;
const PROVOKE_MS = 200;
const STEADY_MS = 2000;
/** Odd seeds kill the process after the side effect, and even ones before it. */
const WHEN = ['after', 'before'] as const;

interface SideEffect extends Pick<KillPoint, 'effect' | 'match'>, Pick<Cell, 'usualLenderOutcome'> {
  of: 'API' | 'worker';
  name: string;
  /** The largest number of the side effect that is hit; default 20. */
  most?: number;
  /** The process is killed only after the side effect: before it, nothing shows whether it will change anything. */
  isOnlyAfter?: true;
  /** Makes it happen, if the load does so rarely. It acts as an operator, again and again. */
  provoke?: (scene: Scene) => Promise<unknown>;
  /** The receiver is silent for two seconds, healthy for two, and so on. */
  isReceiverUnsteady?: true;
}

const signal = ({ client }: ChaosStack, orderId: string, ...[name, input]: [string, object]): Promise<void> =>
  client.workflow.getHandle(`order-${orderId}`).signal(name, input);

/** The sweep then starts the order's workflow again. */
const terminateOne = async ({ stack, random, ledger }: Scene): Promise<unknown> =>
  stack.client.workflow.getHandle(`order-${random.pick(acknowledged(ledger)).id}`).terminate('chaos');

/** The side effects of create, change, checkout, delivery and sweep. */
const SIDE_EFFECTS: SideEffect[] = [
  { of: 'API', effect: 'write', match: 'insert into orders', name: 'it stores a new order' },
  { of: 'API', effect: 'call', match: '/StartWorkflowExecution ', name: 'it starts a workflow' },
  {
    of: 'API',
    effect: 'write',
    match: 'update order_work (w )?set started',
    name: 'it records the start of a workflow',
  },
  {
    of: 'API',
    effect: 'call',
    match: '/(UpdateWorkflowExecution|ExecuteMultiOperation) ',
    name: 'it sends a change to a workflow',
  },
  { of: 'API', effect: 'write', match: 'set resend_requested_at', name: 'it stores the request of a resend', most: 2 },
  {
    of: 'API',
    effect: 'call',
    match: '/Signal(WithStart)?WorkflowExecution .*resendWebhooks',
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
    match: '/Signal(WithStart)?WorkflowExecution .*requestDecision',
    name: 'it passes on an application',
    most: 1,
  },
  { of: 'API', effect: 'write', match: 'insert into payment \\(', name: 'it stores a payment', most: 1 },
  { of: 'worker', effect: 'write', match: 'save_change\\(', name: 'it saves a change' },
  {
    of: 'worker',
    effect: 'write',
    match: 'insert into order_timeline \\(note_id',
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
  { of: 'worker', effect: 'write', match: 'delivery_lease_until =', name: 'it takes a delivery lease' },
  { of: 'worker', effect: 'send', match: 'webhook', name: 'it sends a webhook' },
  { of: 'worker', effect: 'write', match: 'insert into webhook_attempt|record_attempt', name: 'it records an attempt' },
  {
    of: 'worker',
    effect: 'write',
    match: 'insert into endpoint_breaker',
    name: 'it counts an unanswered attempt',
    most: 10,
    isReceiverUnsteady: true,
  },
  {
    of: 'worker',
    effect: 'write',
    match: 'update endpoint_breaker s set probe_at',
    name: 'it takes the lease of a probe',
    most: 2,
    isReceiverUnsteady: true,
  },
  {
    of: 'worker',
    effect: 'write',
    match: 'delete from endpoint_breaker where seller_id',
    name: 'it closes a breaker',
    most: 2,
    isOnlyAfter: true,
    isReceiverUnsteady: true,
  },
  {
    of: 'worker',
    effect: 'write',
    match: 'update order_work w set sweep_at',
    name: 'its sweep leases orders',
    most: 3,
    isOnlyAfter: true,
  },
  {
    of: 'worker',
    effect: 'write',
    match: 'delete from order_work .*o\\.version',
    name: 'its sweep removes the work of a settled order',
    most: 3,
  },
  {
    of: 'worker',
    effect: 'write',
    match: 'update order_work w set started = true',
    name: 'its sweep records that a workflow runs',
    most: 3,
    provoke: terminateOne,
  },
  {
    of: 'worker',
    effect: 'call',
    match: '/StartWorkflowExecution ',
    name: 'its sweep starts a workflow again',
    most: 2,
    provoke: terminateOne,
  },
  {
    of: 'worker',
    effect: 'call',
    match: '/DescribeWorkflowExecution ',
    name: 'its sweep inspects a workflow',
    most: 3,
  },
];

/** A browser sends its requests to the APIs in turns: its pages come from the first one, and most of its forms reach the second. */
const victimOf = ({ stack }: Scene, of: SideEffect['of']): ChaosStack['apis'][0] =>
  of === 'API' ? stack.apis[1] : stack.workers[0];

export const SIDE_EFFECT_CELLS: Cell[] = SIDE_EFFECTS.map(
  ({
    of,
    effect,
    match,
    name,
    most = 20,
    isOnlyAfter = false,
    provoke,
    isReceiverUnsteady = false,
    usualLenderOutcome,
  }): Cell => ({
    name: `SIGKILL ${of === 'API' ? 'an API' : 'a worker'} when ${name}`,
    group: 'side effects',
    variants: isOnlyAfter ? WHEN.slice(0, 1) : WHEN,
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
      const { receiver } = scene.stack;
      let mode: Mode = 'healthy';
      const changeMode = (): void => receiver.setMode((mode = mode === 'healthy' ? 'reset' : 'healthy'));
      const changing = isReceiverUnsteady ? setInterval(changeMode, STEADY_MS) : undefined;
      try {
        await until(() => !victim.isRunning(), `${victim.name} is killed ${scene.variant} ${name}`, STRUCK_WITHIN_MS);
      } finally {
        clearInterval(provoking);
        clearInterval(changing);
        receiver.setMode('healthy');
        rmSync(armedBy);
      }
      if (victim.hasExited()) throw new Error(`${victim.name} ended by itself, and not by the kill`);
      victim.relaunchWith({});
      await delay(scene.random.between(0, 1500));
      await victim.start();
    },
    ...(of === 'worker' && { spares: 'API' as const }),
    ...(provoke && { allowed: () => ({ operators: true }) }),
  }),
);
