import { spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { openLog, type LogFile } from './log-file';
import { commandLine, identify, isAlive, waitUntilGone, type ProcessId } from './process-table';

interface ChildSpec {
  /** Used in messages. */
  name: string;
  /** Absolute path. */
  binary: string;
  args: string[];
  /** A command that runs the binary by exec. */
  via?: string[];
  /** Names the running process, so that a later start can find it if this process is killed. */
  pidFile: string;
  logFile: string;
  cwd?: string;
  env?: NodeJS.ProcessEnv;
  uid?: number | undefined;
  gid?: number | undefined;
  /** Ends the process cleanly. Default: SIGTERM. */
  stopSignal?: NodeJS.Signals;
}

export interface Child {
  pid: number;
  log: LogFile;
  /** Resolves when the process has ended, for any reason, with a description of how it ended. */
  exited: Promise<string>;
  running(): boolean;
  /** Ends the process cleanly, or with SIGKILL after `STOP_LIMIT_MS`. */
  stop(): Promise<void>;
  /** Sends a signal. SIGKILL also waits until the process has ended. */
  kill(signal: NodeJS.Signals): Promise<void>;
}

interface PidRecord {
  child: ProcessId;
  binary: string;
  owner: ProcessId | undefined;
}

/** Milliseconds from the first signal to SIGKILL. */
const STOP_LIMIT_MS = 10_000;

/**
 * Starts a process whose output goes to a log file. The process gets a process group of its own, so that Ctrl-C in a
 * terminal reaches only this process, which then stops its children in order. A child does not keep this process alive.
 * If this process is killed, the child keeps running until the next start ends it with `stopLeftover`.
 */
export async function startChild(spec: ChildSpec): Promise<Child> {
  const log = openLog(spec.logFile);
  const [command, ...args] = [...(spec.via ?? []), spec.binary, ...spec.args];
  const { cwd, env, uid, gid } = spec;
  const options = { detached: true, stdio: ['ignore', log.fd, log.fd] as ['ignore', number, number] };
  const child = spawn(command as string, args, {
    ...options,
    ...(cwd !== undefined && { cwd }),
    ...(env && { env }),
    ...(uid !== undefined && { uid }),
    ...(gid !== undefined && { gid }),
  });
  log.close();
  child.unref();
  const exited = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code, signal) => resolve(signal ? `ended by ${signal}` : `ended with code ${code ?? '?'}`));
  });
  const { pid } = child;
  if (pid === undefined) throw new Error(`${spec.name} could not be started: ${await exited}`);

  const id = identify(pid) ?? { pid, started: 'gone' };
  const record: PidRecord = { child: id, binary: basename(spec.binary), owner: identify(process.pid) };
  writeFileSync(spec.pidFile, JSON.stringify(record));
  const running = () => child.exitCode === null && child.signalCode === null;
  const stop = async () => {
    // Keeps this process alive until the child has ended.
    child.ref();
    if (running()) await end(id, spec.stopSignal ?? 'SIGTERM');
    await exited;
    if (readRecord(spec.pidFile)?.child.pid === pid) rmSync(spec.pidFile, { force: true });
  };
  let stopping: Promise<void> | undefined;
  return {
    pid,
    log,
    exited,
    running,
    stop: () => (stopping ??= stop()),
    async kill(signal) {
      if (running()) send(id, signal);
      if (signal !== 'SIGKILL') return;
      child.ref();
      await exited;
    },
  };
}

/**
 * Ends the process that a killed run left behind, if there is one.
 * @throws if the run that started it is still alive, because its data is in use
 */
export async function stopLeftover(spec: Pick<ChildSpec, 'name' | 'pidFile' | 'stopSignal'>): Promise<void> {
  const record = readRecord(spec.pidFile);
  if (record && isAlive(record.child) && commandLine(record.child.pid).includes(record.binary)) {
    const { owner } = record;
    if (owner && owner.pid !== process.pid && isAlive(owner))
      throw new Error(
        `${spec.name} is already running for process ${owner.pid}, on the same data: stop that process first`,
      );
    await end(record.child, spec.stopSignal ?? 'SIGTERM');
  }
  rmSync(spec.pidFile, { force: true });
}

/** Sends the signal, then SIGKILL if the process has not ended after `STOP_LIMIT_MS`. */
export async function end(id: ProcessId, signal: NodeJS.Signals): Promise<void> {
  send(id, signal);
  // A suspended process (SIGSTOP) cannot handle the first signal.
  send(id, 'SIGCONT');
  if (await waitUntilGone(id, STOP_LIMIT_MS)) return;
  send(id, 'SIGKILL');
  if (!(await waitUntilGone(id, STOP_LIMIT_MS))) throw new Error(`process ${id.pid} did not end after SIGKILL`);
}

function send(id: ProcessId, signal: NodeJS.Signals): void {
  try {
    // To the whole group, because a binary on PATH can be a script that runs the real one.
    process.kill(-id.pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

function readRecord(pidFile: string): PidRecord | undefined {
  try {
    return existsSync(pidFile) ? (JSON.parse(readFileSync(pidFile, 'utf8')) as PidRecord) : undefined;
  } catch {
    // The writing process was killed.
    return undefined;
  }
}
