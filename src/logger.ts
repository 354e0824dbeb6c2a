import { fsync, write, writeSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { pino, stdSerializers, type DestinationStream, type Logger } from 'pino';
import { escapeControls } from './domain/text';
import { droppedLogLines } from './telemetry/metrics';

/**
 * Postgres describes the row that violates a constraint, and a parser repeats the body: a pay link, a person's address.
 */
const UNLOGGED = { detail: undefined, where: undefined, internalQuery: undefined, body: undefined };

/** Lines that wait for a slow reader, in characters. Further ones are dropped. */
const MAX_WAITING = 4 * 1024 * 1024;
/** Pause before the next write to a pipe that is full. */
const RETRY_MS = 100;
/** The longest time that an exit waits for the reader. */
const EXIT_LIMIT_MS = 1000;

let standardOutput: DestinationStream | undefined;

/** Creates a logger that writes JSON lines to standard output, or to `destination`. */
export function createLogger(
  level: string,
  service: string,
  destination: DestinationStream = (standardOutput ??= createLineWriter(1)),
): Logger {
  const options = {
    level,
    base: { service },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: {
      err: (error: unknown) =>
        typeof error === 'object' && error !== null ? { ...stdSerializers.err(error as Error), ...UNLOGGED } : error,
    },
    // A second safeguard: no code logs headers or secrets.
    redact: ['*.authorization', '*.secret', '*.key', 'err.config'],
    // JSON leaves C1 controls and direction controls as they are, and they could control an operator's terminal.
    hooks: { streamWrite: (line: string) => `${escapeControls(line.trimEnd())}\n` },
  };
  return pino(options, destination);
}

type LineWriter = DestinationStream & { flush(done: (error?: Error | null) => void): void };

/**
 * Writes lines to a file descriptor in the background, so that no request waits for the reader of the log. A line that
 * cannot be written, as on a full disk or a closed terminal, is dropped and counted. (pino's own writer keeps it, and
 * tries for ever when the process exits.)
 */
export function createLineWriter(fd: number): LineWriter {
  let waiting: string[] = [];
  let waitingLength = 0;
  /** What is left of the lines that are being written. */
  let rest = Buffer.alloc(0);
  let dropped = 0;
  /** True after a part of a line: the next one needs a line of its own. */
  let isCut = false;
  let writing: Promise<void> | undefined;
  let isPaused = false;

  function drop(lines: number): void {
    dropped += lines;
    droppedLogLines.inc(lines);
  }

  async function writeWaiting(): Promise<void> {
    while (waiting.length > 0) {
      rest = Buffer.from((isCut ? '\n' : '') + waiting.join(''));
      [waiting, waitingLength] = [[], 0];
      while (rest.length > 0) {
        try {
          const { bytesWritten } = await promisify(write)(fd, rest);
          if (bytesWritten > 0) isCut = rest[bytesWritten - 1] !== 0x0a;
          rest = rest.subarray(bytesWritten);
        } catch (error) {
          if (isFull(error)) {
            isPaused = true;
            await delay(RETRY_MS, undefined, { ref: false });
            isPaused = false;
            continue;
          }
          drop(rest.reduce((lines, byte) => lines + Number(byte === 0x0a), 0));
          rest = Buffer.alloc(0);
        }
      }
    }
    writing = undefined;
  }

  process.once('exit', () => {
    // A write that has begun ends by itself.
    let text = Buffer.concat([...(isPaused ? [rest] : []), Buffer.from(waiting.join(''))]);
    for (const deadline = Date.now() + EXIT_LIMIT_MS; text.length > 0;) {
      try {
        text = text.subarray(writeSync(fd, text));
      } catch (error) {
        if (!isFull(error) || Date.now() > deadline) return;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
      }
    }
  });

  return {
    write(line) {
      if (waitingLength + line.length > MAX_WAITING) {
        drop(1);
        return;
      }
      waiting.push(line);
      waitingLength += line.length;
      // All lines of this turn of the event loop in one write.
      writing ??= Promise.resolve().then(writeWaiting);
    },
    flush(done) {
      const before = dropped;
      void Promise.resolve(writing).then(() => {
        if (dropped === before) fsync(fd, done);
        else done(new Error('log lines were dropped'));
      });
    },
  };
}

/** True for a pipe whose reader is slow. */
const isFull = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'EAGAIN';
