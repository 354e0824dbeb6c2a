/** The 12 cells that hit most of the design: each breaks another mechanism of recovery. Seed 1 kills after a side effect. */
export const SHORT = [
  'SIGKILL an API when it starts a workflow',
  'SIGKILL an API when it sends a change to a workflow',
  'SIGKILL a worker when it saves a change',
  'SIGKILL a worker when it sends a webhook',
  'SIGKILL a worker when it has the bank reverse a payment',
  'SIGKILL everything at once',
  'all connections taken',
  'a third of the commits fail with 40001 (serialization failure)',
  'worker 1 alone loses Temporal for 45 s',
  'one worker is 1 h fast, the other 1 h slow',
  'orders expire while the workers are killed',
  'Postgres is restored from a copy',
];
