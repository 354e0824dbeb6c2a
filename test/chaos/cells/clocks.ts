import { setTimeout as delay } from 'node:timers/promises';
import { type Cell, type Scene, expectHits, faultMs } from '../cell';
import { restart } from '../part';
import type { ServicePart } from '../service-part';

const HOUR_MS = 3_600_000;

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
      await Promise.all(
        shifts(scene).map(([part, ms]) => {
          part.relaunchWith({ preload: 'shift-clock', env: { CHAOS_CLOCK_SHIFT_MS: String(ms) } });
          return restart(part, 'SIGTERM');
        }),
      );
    },
    async strike(scene) {
      // Attempts at flaky receivers are scheduled again, by a clock.
      await delay(faultMs(scene.random));
      for (const [part] of shifts(scene))
        expectHits(part.log().filter(isShifted).length, `wrong time in the log of ${part.name}`);
    },
  },
];
