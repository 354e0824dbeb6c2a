import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { spawnCli } from '../../support/cli';
import { queryOrder } from '../../support/orders';
import { until } from '../../support/until';
import { type Cell, type Scene, expectHits } from '../cell';
import type { Broken } from '../invariants';
import { acknowledged } from '../ledger';
import type { ChaosStack } from '../stack';

const ACTIONS_MS = 8000;
/** A run that was ended is replaced within two minutes, without a person. */
export const HEALS_WITHIN_MS = 120_000;
/** Some actions are only possible on an order that is open. */
const ACTIONS_MOST_MS = 40_000;
const PAUSE_MS = 150;

/** Throws, or returns false, if it was refused or did nothing. */
type Action = (stack: ChaosStack, orderId: string) => Promise<unknown>;

const handle = ({ client }: ChaosStack, orderId: string) => client.workflow.getHandle(`order-${orderId}`);
const cli = async ({ env }: ChaosStack, ...args: string[]): Promise<boolean> =>
  (await spawnCli(args, env())).code === 0;

/** What people do in the Temporal UI and on the command line. */
const ACTIONS: Record<string, Action> = {
  terminate: (stack, id) => handle(stack, id).terminate('chaos'),
  'request cancellation': async (stack, id) => {
    await handle(stack, id).cancel();
    // Temporal accepts it for a closed run too, which never sees it.
    const { events } = await handle(stack, id).fetchHistory();
    return events?.some((event) => event.workflowExecutionCancelRequestedEventAttributes);
  },
  'signal a cancel': (stack, id) => handle(stack, id).signal('cancel', { reason: 'chaos' }),
  'signal progress': (stack, id) => handle(stack, id).signal('customerProgress', { event: 'signup_started' }),
  'signal nonsense': (stack, id) => handle(stack, id).signal('customerProgress', { event: 'nonsense' }),
  reset,
  'cancel by CLI': (stack, id) => cli(stack, 'order', 'cancel', id, '--reason', 'chaos'),
  'resend by CLI': async (stack, id) => {
    const { rows } = await stack.db.query<{ id: string }>('select id from webhook_event where order_id = $1', [id]);
    return rows[0] !== undefined && cli(stack, 'webhooks', 'resend', rows[0].id);
  },
};
const CANCELS = ['request cancellation', 'signal a cancel', 'cancel by CLI'];
/** They end the run, and with it what it has not saved yet. */
const ENDS = ['terminate', 'reset'];

/** Resets the newest run to its first workflow task. */
async function reset({ client }: ChaosStack, orderId: string): Promise<boolean> {
  const workflowId = `order-${orderId}`;
  const { events } = await client.workflow.getHandle(workflowId).fetchHistory();
  const task = events?.find(({ workflowTaskCompletedEventAttributes }) => workflowTaskCompletedEventAttributes);
  if (!task?.eventId) return false;
  await client.workflowService.resetWorkflowExecution({
    namespace: client.options.namespace,
    workflowExecution: { workflowId },
    workflowTaskFinishEventId: task.eventId,
    reason: 'chaos',
    requestId: randomUUID(),
  });
  return true;
}

/** The orders that operators have changed. */
export function changedIn(memory: Scene['memory']): Set<string> {
  if (!memory.has('changed')) memory.set('changed', new Set<string>());
  return memory.get('changed') as Set<string>;
}

/** True if an order has nothing left to do, or an open run with the changes of its row. */
export async function isHealed({ db, client }: ChaosStack, orderId: string): Promise<boolean> {
  const { rows } = await db.query<{ version: number; isLeft: boolean }>(
    `select version, status not in ('SUCCESSFUL', 'UNSUCCESSFUL')
       or exists (select from webhook_event where order_id = o.id and state = 'pending') as "isLeft"
     from orders o where id = $1`,
    [orderId],
  );
  const { version, isLeft } = rows[0]!;
  if (!isLeft) return true;
  const state = await queryOrder(client, orderId).catch(() => null);
  return state !== null && state.version >= version;
}

/**
 * Ends when all runs that it has ended are replaced.
 * @returns the orders of the cancels that were accepted, and when, unless an operator has ended a run of the order
 */
async function act({ stack, random, ledger, memory }: Scene): Promise<Map<string, Date>> {
  const accepted = Object.keys(ACTIONS).map((name) => ({ name, count: 0 }));
  const cancelled = new Map<string, Date>();
  const ended = new Set<string>();
  const healing: Promise<unknown>[] = [];
  const startedAt = performance.now();
  const elapsedMs = (): number => performance.now() - startedAt;
  const missing = () => accepted.filter(({ count }) => count === 0);
  while (elapsedMs() < ACTIONS_MS || (missing().length > 0 && elapsedMs() < ACTIONS_MOST_MS)) {
    const { id, record } = random.pick(acknowledged(ledger));
    const action = random.pick(elapsedMs() < ACTIONS_MS ? accepted : missing());
    changedIn(memory).add(id);
    if (ENDS.includes(action.name)) ended.add(id);
    if (action.name.startsWith('resend')) record.resent = true;
    // A run that has closed refuses most actions.
    const isAccepted = await ACTIONS[action.name]!(stack, id).then(
      (result) => result !== false,
      () => false,
    );
    if (isAccepted) action.count += 1;
    if (isAccepted && ENDS.includes(action.name))
      healing.push(until(() => isHealed(stack, id), `order ${id} goes on after "${action.name}"`, HEALS_WITHIN_MS));
    if (isAccepted && CANCELS.includes(action.name)) cancelled.set(id, new Date());
    await delay(PAUSE_MS);
  }
  for (const { name, count } of accepted) expectHits(count, `accepted "${name}"`);
  for (const id of ended) cancelled.delete(id);
  await Promise.all(healing);
  return cancelled;
}

/** Each accepted cancel is a change or a recorded refusal, unless the seller had cancelled before. */
async function verifyCancels({ stack: { db }, memory }: Scene): Promise<Broken[]> {
  const cancelled = memory.get('cancelled') as Map<string, Date>;
  const { rows } = await db.query<{ orderId: string }>(
    `select id as "orderId" from unnest($1::uuid[], $2::timestamptz[]) accepted (id, accepted_at)
     where not exists (select from order_timeline where order_id = accepted.id and event = 'cancel'
       and (actor = 'operator' or at <= accepted_at))`,
    [[...cancelled.keys()], [...cancelled.values()]],
  );
  return rows.map(({ orderId }) => ({ orderId, fault: "an operator's accepted cancel is not in the timeline" }));
}

export const OPERATOR_CELLS: Cell[] = [
  {
    name: 'operator actions at random: terminate, reset, cancel, signal, resend',
    async strike(scene) {
      scene.memory.set('cancelled', await act(scene));
    },
    allowed: ({ memory }) => ({ operators: true, failedRuns: changedIn(memory) }),
    verify: verifyCancels,
  },
];
