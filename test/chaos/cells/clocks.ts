import { setTimeout as delay } from 'node:timers/promises';
import { until } from '../../support/until';
import { type Cell, type Scene, expectHits, faultMs } from '../cell';
import { acknowledged } from '../ledger';
import { restart } from '../part';
import type { ServicePart } from '../service-part';
import { HEALS_WITHIN_MS, changedIn, isHealed } from './operators';

const HOUR_MS = 3_600_000;
const TEN_MINUTES_MS = 600_000;
const ENDED_RUNS = 8;

async function restartShifted(part: ServicePart, ms: number): Promise<void> {
  part.relaunchWith({ preload: 'shift-clock', env: { CHAOS_CLOCK_SHIFT_MS: String(ms) } });
  await restart(part, 'SIGTERM');
}

/** True if a line of a log has a time that is wrong by more than half an hour. */
function isShifted(line: string): boolean {
  const [, time = ''] = /"time":"([^"]+)"/.exec(line) ?? [];
  return Math.abs(Date.parse(time) - Date.now()) > HOUR_MS / 2;
}

/** Of each two equal processes, one clock is fast and the other is slow. */
const shifts = ({ stack: { apis, workers } }: Scene): [part: ServicePart, ms: number][] =>
  [apis, workers].flatMap(([fast, slow]): [ServicePart, number][] => [
    [fast, HOUR_MS],
    [slow, -HOUR_MS],
  ]);

export const CLOCK_CELLS: Cell[] = [
  {
    name: 'one API and one worker are 1 h fast, the others 1 h slow',
    spares: 'API',
    async prepare(scene) {
      await Promise.all(shifts(scene).map(([part, ms]) => restartShifted(part, ms)));
    },
    async strike(scene) {
      // Attempts at flaky receivers are scheduled again, by a clock.
      await delay(faultMs(scene.random));
      for (const [part] of shifts(scene))
        expectHits(part.log().filter(isShifted).length, `wrong time in the log of ${part.name}`);
    },
  },
  {
    name: 'the clock of each worker is ahead by ten minutes while runs are terminated',
    spares: 'API',
    async prepare({ stack: { workers } }) {
      await Promise.all(workers.map((worker) => restartShifted(worker, TEN_MINUTES_MS)));
    },
    async strike({ stack, random, ledger, memory }) {
      const healing: Promise<unknown>[] = [];
      for (let ended = 0; ended < ENDED_RUNS; ended++) {
        const { id } = random.pick(acknowledged(ledger));
        changedIn(memory).add(id);
        const terminated = stack.client.workflow.getHandle(`order-${id}`).terminate('chaos');
        const isEnded = await terminated.then(
          () => true,
          () => false,
        );
        if (isEnded) healing.push(until(() => isHealed(stack, id), `order ${id} goes on`, HEALS_WITHIN_MS));
        await delay(500);
      }
      expectHits(healing.length, 'open run to terminate');
      await Promise.all(healing);
    },
    allowed: ({ memory }) => ({ operators: true, failedRuns: changedIn(memory) }),
  },
];
