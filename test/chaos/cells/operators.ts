import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { runCli } from '../../support/cli';
import type { Cell, Scene } from '../cell';
import { acknowledged } from '../ledger';
import { repairAll, repairOnce } from '../reconcile';
import type { ChaosStack } from '../stack';

const ACTIONS_MS = 8000;
const PAUSE_MS = 150;

type Action = (stack: ChaosStack, orderId: string) => Promise<unknown>;

const handle = ({ client }: ChaosStack, orderId: string) => client.workflow.getHandle(`order-${orderId}`);

/** What people do in the Temporal UI and on the command line. */
const ACTIONS: Record<string, Action> = {
  terminate: (stack, id) => handle(stack, id).terminate('chaos'),
  'request cancellation': (stack, id) => handle(stack, id).cancel(),
  'signal a cancel': (stack, id) => handle(stack, id).signal('cancel', { reason: 'chaos' }),
  'signal progress': (stack, id) => handle(stack, id).signal('customerProgress', { event: 'signup_started' }),
  'signal nonsense': (stack, id) => handle(stack, id).signal('customerProgress', { event: 'nonsense' }),
  reset,
  'cancel by CLI': (stack, id) => runCli(['order', 'cancel', id, '--reason', 'chaos'], stack.env()),
  'resend by CLI': async (stack, id) => {
    const { rows } = await stack.db.query<{ id: string }>('select id from webhook_event where order_id = $1', [id]);
    if (rows[0]) await runCli(['webhooks', 'resend', rows[0].id], stack.env());
  },
};

/** Resets the newest run to its first workflow task. */
async function reset({ client }: ChaosStack, orderId: string): Promise<void> {
  const workflowId = `order-${orderId}`;
  const { events } = await client.workflow.getHandle(workflowId).fetchHistory();
  const task = events?.find(({ workflowTaskCompletedEventAttributes }) => workflowTaskCompletedEventAttributes);
  if (!task?.eventId) return;
  await client.workflowService.resetWorkflowExecution({
    namespace: client.options.namespace,
    workflowExecution: { workflowId },
    workflowTaskFinishEventId: task.eventId,
    reason: 'chaos',
    requestId: randomUUID(),
  });
}

async function act(scene: Scene): Promise<void> {
  const { stack, random, ledger } = scene;
  const until = performance.now() + ACTIONS_MS;
  while (performance.now() < until) {
    const known = acknowledged(ledger);
    const { id, record } = random.pick(known);
    const name = random.pick(Object.keys(ACTIONS));
    if (name.startsWith('resend')) record.resent = true;
    // A run that has closed refuses most actions.
    await ACTIONS[name]!(stack, id).catch(() => undefined);
    await delay(PAUSE_MS);
  }
}

export const OPERATOR_CELLS: Cell[] = [
  {
    name: 'operator actions at random: terminate, reset, cancel, signal, resend, reconcile',
    group: 'restores, clocks and operators',
    slow: true,
    async strike(scene) {
      await act(scene);
      await repairOnce(scene);
    },
    repair: repairAll,
    allowed: () => ({ operators: true, failedRuns: true }),
  },
];
