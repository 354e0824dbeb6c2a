import { closeSync, mkdirSync, openSync, readSync, renameSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

export type LogFile = {
  path: string;
  fd: number;
  /** What was written since it was opened, at most the last `bytes`. */
  tail(bytes?: number): string;
  /** Closes our own end; a child that was given the descriptor keeps its copy. */
  close(): void;
};

const ROTATE_AT = 10 * 1024 * 1024;

/** Opens a log for appending; one that has grown past 10 MiB is set aside as `….old` first. */
export function openLog(path: string): LogFile {
  mkdirSync(dirname(path), { recursive: true });
  if (size(path) > ROTATE_AT) renameSync(path, `${path}.old`);
  const start = size(path);
  const fd = openSync(path, 'a');
  return {
    path,
    fd,
    tail(bytes = 4096) {
      const from = Math.max(start, size(path) - bytes);
      const buffer = Buffer.alloc(bytes);
      const reader = openSync(path, 'r');
      try {
        return buffer.toString('utf8', 0, readSync(reader, buffer, 0, bytes, from));
      } finally {
        closeSync(reader);
      }
    },
    close: () => closeSync(fd),
  };
}

function size(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
