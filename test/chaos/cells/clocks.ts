import { type Cell, type Scene, expectHits, faultMs } from '../cell';
import { restart } from '../part';
import type { ServicePart } from '../service-part';
import { failReceiver } from './receiver';

const HOUR_MS = 3_600_000;

/** True if a line of a log has a time that is wrong by more than half an hour. */
function isShifted(line: string): boolean {
  const [, time = ''] = /"time":"([^"]+)"/.exec(line) ?? [];
  return Math.abs(Date.parse(time) - Date.now()) > HOUR_MS / 2;
}

/** @param shifts the processes whose clocks are wrong, and by how many hours */
function wrongClocks(name: string, shifts: (scene: Scene) => [ServicePart, number][]): Cell {
  return {
    name,
    group: 'restores, clocks and operators',
    spares: 'API',
    async prepare(scene) {
      await Promise.all(
        shifts(scene).map(([part, hours]) => {
          part.relaunchWith({ preload: 'shift-clock', env: { CHAOS_CLOCK_SHIFT_MS: String(hours * HOUR_MS) } });
          return restart(part, 'SIGTERM');
        }),
      );
    },
    async strike(scene) {
      // Failed attempts are scheduled again, by a clock.
      await failReceiver(scene.stack, '500', faultMs(scene.random));
      for (const [part] of shifts(scene))
        expectHits(part.log().filter(isShifted).length, `wrong time in the log of ${part.name}`);
    },
  };
}

export const CLOCK_CELLS: Cell[] = [
  wrongClocks('one worker is 1 h fast, the other 1 h slow', ({ stack: { workers } }) => [
    [workers[0], 1],
    [workers[1], -1],
  ]),
  wrongClocks('one API is 1 h fast, the other 1 h slow', ({ stack: { apis } }) => [
    [apis[0], 1],
    [apis[1], -1],
  ]),
];
