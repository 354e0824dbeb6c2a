/** The cells for CI, about six minutes: each breaks another mechanism of recovery. Seed 1 kills after a side effect. */
export const SHORT = [
  'SIGKILL an API when it sends a change to a workflow',
  'SIGKILL a worker when it saves a change',
  'SIGKILL a worker when it has the bank reverse a payment',
  'SIGKILL everything at once',
  'a third of the commits fail with 40001 (serialization failure)',
  'one worker is 1 h fast, the other 1 h slow',
  'Postgres is restored from a copy',
];
