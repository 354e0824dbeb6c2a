import { setTimeout as delay } from 'node:timers/promises';
import { type Cell, type Scene, faultMs } from '../cell';
import { type Part, freeze, restart } from '../part';
import { startAll } from '../stack';

const LONG_FREEZE_MS = 90_000;
const SHORT_FREEZE_MS = 5000;
/** How long the supervisor of a process, such as Kubernetes, takes to start it again, at most. */
const RESTART_MS = 1500;

/** The parts of the stack, and which of two equal ones is hit. */
const PARTS: Record<string, (scene: Scene) => Part> = {
  'an API': ({ stack, random }) => random.pick(stack.apis),
  'a worker': ({ stack, random }) => random.pick(stack.workers),
  Temporal: ({ stack }) => stack.temporal,
  Postgres: ({ stack }) => stack.postgres,
  'the receiver': ({ stack }) => stack.receiver,
};

const all = ({ stack }: Scene): Part[] => [
  ...[...stack.apis, ...stack.workers],
  ...[stack.temporal, stack.postgres, stack.receiver],
];
const stateless = ({ stack }: Scene): Part[] => [...stack.apis, ...stack.workers];

/** A thawed receiver reads the requests of several attempts at the same time. */
const allowed = (name: string): Pick<Cell, 'allowed'> =>
  name === 'the receiver' ? { allowed: () => ({ overlaps: true }) } : {};

const SPARES: Record<string, Pick<Cell, 'spares'>> = {
  'a worker': { spares: 'API' },
  Temporal: { spares: 'API' },
  'the receiver': { spares: 'service' },
};

const each = Object.entries(PARTS).flatMap(([name, choose]): Cell[] => [
  {
    name: `SIGKILL ${name}`,
    group: 'process',
    ...SPARES[name],
    strike: (scene) => restart(choose(scene), 'SIGKILL', scene.random.between(0, RESTART_MS)),
  },
  {
    name: `SIGSTOP ${name} for 5 s`,
    group: 'process',
    ...SPARES[name],
    strike: (scene) => freeze(choose(scene), () => delay(SHORT_FREEZE_MS)),
    ...allowed(name),
  },
  {
    name: `SIGSTOP ${name} for 90 s`,
    group: 'process',
    ...SPARES[name],
    slow: true,
    strike: (scene) => freeze(choose(scene), () => delay(LONG_FREEZE_MS)),
    ...allowed(name),
  },
  {
    name: `SIGTERM ${name}`,
    group: 'process',
    ...SPARES[name],
    strike: (scene) => restart(choose(scene), 'SIGTERM', scene.random.between(0, RESTART_MS)),
  },
]);

export const PROCESS_CELLS: Cell[] = [
  ...each,
  {
    name: 'SIGKILL everything at once',
    group: 'process',
    async strike(scene) {
      await Promise.all(all(scene).map((part) => part.end('SIGKILL')));
      await delay(faultMs(scene.random));
      await startAll([scene.stack.postgres, scene.stack.temporal, scene.stack.receiver]);
      await startAll(stateless(scene));
    },
  },
  {
    name: 'SIGKILL a process every 2 s',
    group: 'process',
    async strike(scene) {
      const restarts: Promise<void>[] = [];
      for (let kills = 0; kills < 5; kills++) {
        const running = stateless(scene).filter((part) => part.isRunning());
        if (running.length > 0) restarts.push(restart(scene.random.pick(running), 'SIGKILL', 500));
        await delay(2000);
      }
      await Promise.all(restarts);
      await startAll(stateless(scene));
    },
  },
];
