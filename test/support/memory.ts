import { readFileSync, writeFileSync } from 'node:fs';

/**
 * Measures a process's resident memory in MB: now, and its peak since now (see proc(5)). Always 0 on other systems than
 * Linux.
 */
export function watchMemory(pid: number): { read(): { before: number; peak: number } } {
  if (process.platform !== 'linux') return { read: () => ({ before: 0, peak: 0 }) };
  const megabytes = (field: string) => {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Math.round(Number(new RegExp(`^${field}:\\s*(\\d+) kB$`, 'm').exec(status)![1]) / 1024);
  };
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
  const before = megabytes('VmRSS');
  return { read: () => ({ before, peak: megabytes('VmHWM') }) };
}
