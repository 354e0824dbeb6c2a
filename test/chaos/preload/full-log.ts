/*
 * Preloaded into a process of the service (`node --require`): from one SIGUSR2 to the next, nothing can be written to
 * standard output, as on a full disk. Then one line says how many writes have failed.
 */
import fs from 'node:fs';

const real = { write: fs.write, writeSync: fs.writeSync };
const STANDARD_OUTPUT = 1;
let isFull = false;
let failed = 0;

const noSpace = (): Error => Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });

Object.assign(fs, {
  write(fd: number, ...args: unknown[]) {
    if (!isFull || fd !== STANDARD_OUTPUT) return Reflect.apply(real.write, fs, [fd, ...args]);
    failed += 1;
    setImmediate(args.at(-1) as (error: Error) => void, noSpace());
  },
  writeSync(fd: number, ...args: unknown[]) {
    if (isFull && fd === STANDARD_OUTPUT) throw noSpace();
    return Reflect.apply(real.writeSync, fs, [fd, ...args]) as number;
  },
});

process.on('SIGUSR2', () => {
  isFull = !isFull;
  if (!isFull) real.writeSync.call(fs, STANDARD_OUTPUT, `chaos: ${failed} writes of the log failed\n`);
});
