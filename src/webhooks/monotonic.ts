/**
 * Milliseconds by a clock that all threads of this machine share, that nobody sets, and that runs on while a process is
 * frozen. `performance.now()` starts again in each thread.
 */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint() / 1_000_000n);
}
