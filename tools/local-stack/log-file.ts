import { closeSync, mkdirSync, openSync, readSync, renameSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

export interface LogFile {
  path: string;
  fd: number;
  /** The text written since the file was opened, at most the last `bytes`. */
  tail(bytes?: number): string;
  /** Closes this process's descriptor. A child that inherited it keeps its copy. */
  close(): void;
}

const ROTATE_AT_BYTES = 10 * 1024 * 1024;

/** Opens a log for appending. A log of more than 10 MiB is renamed to `<path>.old` first. */
export function openLog(path: string): LogFile {
  mkdirSync(dirname(path), { recursive: true });
  if (size(path) > ROTATE_AT_BYTES) renameSync(path, `${path}.old`);
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
