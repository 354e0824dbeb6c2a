import { setTimeout as delay } from 'node:timers/promises';
import { type Cell, type Scene, faultMs } from '../cell';
import { restart } from '../part';
import type { ServicePart } from '../service-part';

const HOUR_MS = 3_600_000;

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
    async strike({ stack, random }) {
      // Failed attempts are scheduled again, by a clock.
      stack.receiver.setMode('500');
      await delay(faultMs(random));
      stack.receiver.setMode('healthy');
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
