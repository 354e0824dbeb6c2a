/** Milliseconds by a clock that nobody sets and that runs on while the process is frozen. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint() / 1_000_000n);
}
