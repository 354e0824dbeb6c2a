import { setTimeout as delay } from 'node:timers/promises';
import { type Cell, type Scene, expectHits, faultMs, oneOf } from '../cell';
import { type Part, freeze, restart } from '../part';
import { startAll } from '../stack';

const LONG_FREEZE_MS = 90_000;
const MIDDLE_FREEZE_MS = 45_000;
const SHORT_FREEZE_MS = 5000;
/** How long the supervisor of a process, such as Kubernetes, takes to start it again, at most. */
const RESTART_MS = 1500;
const KILLS = 8;
const MOST_STARTS = 20;

/** The parts of the stack, and which of two equal ones is hit. */
const PARTS: Record<string, (scene: Scene) => Part> = {
  'an API': ({ stack, random }) => random.pick(stack.apis),
  'a worker': ({ stack, random }) => random.pick(stack.workers),
  Temporal: ({ stack }) => stack.temporal,
  Postgres: ({ stack }) => stack.postgres,
  'the receiver': ({ stack }) => stack.receiver,
};

const services = ({ stack }: Scene) => [...stack.apis, ...stack.workers];
const stores = ({ stack }: Scene): Part[] => [stack.temporal, stack.postgres, stack.receiver];
const all = (scene: Scene): Part[] => [...services(scene), ...stores(scene)];

/**
 * A thawed receiver reads the requests of several attempts at the same time. A worker that was frozen for longer than the
 * activity of an attempt (30 s) may repeat an earlier webhook late.
 */
const DETAILS: Record<string, Pick<Cell, 'spares' | 'allowed'>> = {
  'a worker': { spares: 'API', allowed: ({ variant }) => ({ repeatsLate: variant === 'SIGSTOP for 90 s' }) },
  Temporal: { spares: 'API' },
  'the receiver': {
    spares: 'service',
    allowed: ({ variant = '' }) => ({ overlaps: () => variant.startsWith('SIGSTOP') }),
  },
};

async function killAndStop(scene: Scene, choose: (scene: Scene) => Part): Promise<void> {
  await restart(choose(scene), 'SIGKILL', scene.random.between(0, RESTART_MS));
  await delay(faultMs(scene.random));
  await restart(choose(scene), 'SIGTERM', scene.random.between(0, RESTART_MS));
}

const each = Object.entries(PARTS).map(([name, choose]): Cell => ({
  name: `signals to ${name}`,
  ...DETAILS[name],
  ...oneOf({
    'SIGKILL, later SIGTERM': (scene) => killAndStop(scene, choose),
    'SIGSTOP for 5 s': (scene) => freeze(choose(scene), () => delay(SHORT_FREEZE_MS)),
    'SIGSTOP for 90 s': (scene) => freeze(choose(scene), () => delay(LONG_FREEZE_MS)),
  }),
}));

/** As a supervisor does, starts the part again until it runs: a store that it needs may be down. */
async function killAndSupervise(part: Part): Promise<void> {
  await part.end('SIGKILL');
  for (let starts = 0; starts < MOST_STARTS && !part.isRunning(); starts++) {
    await delay(RESTART_MS / 3);
    await part.start().catch(() => undefined);
  }
}

async function endAll(scene: Scene, how: 'SIGKILL' | 'SIGTERM'): Promise<void> {
  await Promise.all(all(scene).map((part) => part.end(how)));
  await delay(faultMs(scene.random));
  await startAll(stores(scene));
  await startAll(services(scene));
}

const freezeAll = (scene: Scene): Promise<void> =>
  all(scene).reduce(
    (inner, part) => () => freeze(part, inner),
    (): Promise<void> => delay(MIDDLE_FREEZE_MS),
  )();

async function prepareLogs(scene: Scene): Promise<void> {
  for (const part of services(scene)) part.relaunchWith({ preload: 'full-log' });
  await Promise.all(services(scene).map((part) => restart(part, 'SIGTERM')));
}

/** The disk of the logs is full for a while: lines are lost, and nothing else. */
async function fillLogDisk(scene: Scene): Promise<void> {
  const parts = services(scene);
  const toggle = (): void => {
    for (const part of parts) process.kill(part.pids()[0]!, 'SIGUSR2');
  };
  toggle();
  await delay(2 * faultMs(scene.random));
  toggle();
  await delay(500);
  for (const part of parts) {
    const failed = part.log().map((line) => Number(/^chaos: (\d+) writes/.exec(line)?.[1] ?? 0));
    expectHits(Math.max(...failed), `write to the log of ${part.name} that failed`);
  }
}

export const PROCESS_CELLS: Cell[] = [
  ...each,
  { name: "the log's disk is full", prepare: prepareLogs, strike: fillLogDisk },
  {
    name: 'signals to everything at once',
    ...oneOf({
      SIGKILL: (scene) => endAll(scene, 'SIGKILL'),
      SIGTERM: (scene) => endAll(scene, 'SIGTERM'),
      // Longer than the activity of an attempt (30 s).
      'SIGSTOP for 45 s': freezeAll,
    }),
    allowed: ({ variant }) => (variant === 'SIGSTOP for 45 s' ? { overlaps: () => true, repeatsLate: true } : {}),
  },
  {
    name: 'SIGKILL a process every 2 s',
    async strike(scene) {
      const restarts = new Map<Part, Promise<void>>();
      for (let kills = 0; kills < KILLS; kills++) {
        const part = scene.random.pick(all(scene).filter((one) => !restarts.has(one)));
        restarts.set(
          part,
          killAndSupervise(part).finally(() => restarts.delete(part)),
        );
        await delay(2000);
      }
      await Promise.all(restarts.values());
    },
  },
];
