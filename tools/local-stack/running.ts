import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { StartError } from '../../src/entry-point';
import { PACKAGE_ROOT } from '../../src/package';
import { type ProcessId, identify, isAlive } from './process-table';

export const DEFAULT_DATA_DIR = path.join(PACKAGE_ROOT, '.data');
export const DATA_DIR = path.resolve(process.env.DATA_DIR || DEFAULT_DATA_DIR);

interface RunningStart {
  process: ProcessId;
  /** Undefined until the service is up. */
  url?: string;
}

const fileIn = (dataDir: string): string => path.join(dataDir, 'start.json');

/** Returns a message if an `npm start` is running on the data. */
export function findRunning(dataDir: string): string | undefined {
  const { process: other, url } = read(fileIn(dataDir)) ?? {};
  if (!other || other.pid === process.pid || !isAlive(other)) return undefined;
  const where = url === undefined ? 'and not up yet' : `at ${url}`;
  return (
    `npm start is already running ${where} (process ${other.pid}, data in ${dataDir}). ` +
    'Stop it first, or set DATA_DIR to another folder.'
  );
}

/**
 * Records that this process uses the data.
 * @throws StartError if another one does
 */
export function claimData(dataDir: string): { isUpAt(url: string): void; stop(): Promise<void> } {
  const message = findRunning(dataDir);
  if (message !== undefined) throw new StartError(message);
  const self = identify(process.pid) ?? { pid: process.pid, started: 'unknown' };
  const write = (url?: string): void => writeFileSync(fileIn(dataDir), JSON.stringify({ process: self, url }));
  write();
  return {
    isUpAt: write,
    stop() {
      rmSync(fileIn(dataDir), { force: true });
      return Promise.resolve();
    },
  };
}

function read(file: string): RunningStart | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as RunningStart;
  } catch {
    // There is none, or its process was killed while it wrote.
    return undefined;
  }
}
