import { setTimeout as delay } from 'node:timers/promises';
import { createCleanup, endWith } from '../../chaos/cleanup';
import type { Part } from '../../chaos/part';

/** A part that takes 20 ms to start. */
function createPart(name: string, log: string[]): Part {
  let running = false;
  return {
    name,
    isRunning: () => running,
    pids: () => [],
    async start() {
      await delay(20);
      running = true;
      log.push(`${name} started`);
    },
    end() {
      if (running) log.push(`${name} ended`);
      running = false;
      return Promise.resolve();
    },
  };
}

test('a cleanup during the start of the parts ends them, the newest first, and starts no other', async () => {
  const log: string[] = [];
  const cleanup = createCleanup();
  cleanup.add(() => log.push('unmounted'));
  const first = endWith(cleanup, createPart('first', log));
  const second = endWith(cleanup, createPart('second', log));
  await first.start();
  const starting = second.start();

  await Promise.all([cleanup.run(), cleanup.run()]);
  await starting;

  expect(log).toEqual(['first started', 'second started', 'second ended', 'first ended', 'unmounted']);
  await expect(first.start()).rejects.toThrow('the stack is being stopped');
  expect(() => endWith(cleanup, createPart('third', log))).toThrow('the stack is being stopped');
});

test('a step of a cleanup that fails does not keep the others from running', async () => {
  const log: string[] = [];
  const printed = jest.spyOn(console, 'error').mockReturnValue(undefined);
  const cleanup = createCleanup();
  cleanup.add(() => log.push('unmounted'));
  cleanup.add(() => Promise.reject(new Error('no such process')));

  await cleanup.run();

  expect(log).toEqual(['unmounted']);
  expect(printed).toHaveBeenCalledWith('cleaning up:', new Error('no such process'));
});
