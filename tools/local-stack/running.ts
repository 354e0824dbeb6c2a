import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type ProcessPart, StartError } from '../../src/entry-point';
import { PACKAGE_ROOT } from '../../src/package';
import { commandLine } from './child';
import { choosePort } from './ports';

export const DEFAULT_DATA_DIR = path.join(PACKAGE_ROOT, '.data');
export const DATA_DIR = path.resolve(process.env.DATA_DIR || DEFAULT_DATA_DIR);

interface RunningStart {
  pid: number;
  /** Identifies the process: a later one can have its pid. */
  command: string;
  url: string;
}

const fileIn = (dataDir: string): string => path.join(dataDir, 'start.json');

/** Returns a message if an `npm start` is running on the data. */
export function findRunning(dataDir: string): string | undefined {
  const { pid, command, url } = (readJson(fileIn(dataDir)) ?? {}) as Partial<RunningStart>;
  if (pid === undefined || pid === process.pid || commandLine(pid) !== command) return undefined;
  return (
    `npm start is already running at ${url} (process ${pid}, data in ${dataDir}). ` +
    'Stop it first, or set DATA_DIR to another folder.'
  );
}

/**
 * Records that this process uses the data, for a service at this URL.
 * @throws StartError if another one does
 */
export function claimData(dataDir: string, url: string): ProcessPart {
  const message = findRunning(dataDir);
  if (message !== undefined) throw new StartError(message);
  const { pid } = process;
  writeFileSync(fileIn(dataDir), JSON.stringify({ pid, command: commandLine(pid), url }));
  return {
    stop() {
      rmSync(fileIn(dataDir), { force: true });
      return Promise.resolve();
    },
  };
}

const portsFile = path.join(DATA_DIR, 'ports.json');
const readPorts = () => readJson(portsFile) as Record<string, number> | undefined;

/** The port that took the place of `preferred` at the last start, so that links stay valid, or another if it is in use. */
export async function keepPort(preferred: number): Promise<number> {
  const port = await choosePort(readPorts()?.[preferred] ?? preferred);
  recordPort(preferred, port);
  return port;
}

/** Records the port that is used in the place of `preferred`. */
export function recordPort(preferred: number, port: number): void {
  writeFileSync(portsFile, JSON.stringify({ ...readPorts(), [preferred]: port }));
}

/** Undefined if there is no such file, or its process was killed while it wrote. */
export function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}
