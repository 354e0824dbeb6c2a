import { randomUUID } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { until } from '../../support/until';
import type { Cell, Scene } from '../cell';
import type { KillPoint } from '../preload/kill-at';
import type { ChaosStack } from '../stack';

const STRUCK_WITHIN_MS = 30_000;
/** A killed sender's attempt is repeated after its activity has timed out. */
const AFTER_SEND = 'send';

interface SideEffect extends Pick<KillPoint, 'effect' | 'match'> {
  of: 'API' | 'worker';
  name: string;
  /** The largest number of the side effect that is hit; default 20. */
  most?: number;
}

/** The side effects of create, change, delivery and sweep. */
const SIDE_EFFECTS: SideEffect[] = [
  { of: 'API', effect: 'write', match: 'insert into orders', name: 'it stores a new order' },
  { of: 'API', effect: 'call', match: 'StartWorkflowExecution', name: 'it starts a workflow' },
  {
    of: 'API',
    effect: 'write',
    match: 'update order_work (w )?set started',
    name: 'it records the start of a workflow',
  },
  {
    of: 'API',
    effect: 'call',
    match: 'UpdateWorkflowExecution|ExecuteMultiOperation',
    name: 'it sends a change to a workflow',
  },
  { of: 'API', effect: 'write', match: 'set resend_requested_at', name: 'it stores the request of a resend', most: 2 },
  { of: 'API', effect: 'call', match: 'Signal(WithStart)?WorkflowExecution', name: 'it passes on a resend', most: 2 },
  { of: 'worker', effect: 'write', match: 'insert into order_timeline|save_change', name: 'it saves a change' },
  { of: 'worker', effect: 'write', match: 'delivery_lease_until =', name: 'it takes a delivery lease' },
  { of: 'worker', effect: AFTER_SEND, match: 'webhook', name: 'it sends a webhook' },
  { of: 'worker', effect: 'write', match: 'insert into webhook_attempt|record_attempt', name: 'it records an attempt' },
  {
    of: 'worker',
    effect: 'write',
    match: 'update order_work w set sweep_at',
    name: 'its sweep leases orders',
    most: 3,
  },
  { of: 'worker', effect: 'call', match: 'DescribeWorkflowExecution', name: 'its sweep inspects a workflow' },
];

const victimOf = ({ stack }: Scene, of: SideEffect['of']): ChaosStack['apis'][0] =>
  of === 'API' ? stack.apis[0] : stack.workers[0];

export const SIDE_EFFECT_CELLS: Cell[] = SIDE_EFFECTS.flatMap(({ of, effect, match, name, most = 20 }) =>
  (['before', 'after'] as const).map((when): Cell => {
    const preposition = of === 'API' ? 'an API' : 'a worker';
    return {
      name: `SIGKILL ${preposition} ${when} ${name}`,
      group: 'side effects',
      ...(of === 'worker' && { spares: 'API' as const }),
      async prepare(scene) {
        const armedBy = path.join(tmpdir(), `chaos-armed-${randomUUID()}`);
        scene.memory.set('armedBy', armedBy);
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
        try {
          await until(() => !victim.isRunning(), `${victim.name} is killed ${when} ${name}`, STRUCK_WITHIN_MS);
        } finally {
          rmSync(armedBy);
        }
        victim.relaunchWith({});
        await delay(scene.random.between(0, 1500));
        await victim.start();
      },
    };
  }),
);
