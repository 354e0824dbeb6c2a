/** The 12 cells that hit most of the design: each breaks another mechanism of recovery. */
export const SHORT = [
  'SIGKILL an API before it starts a workflow',
  'SIGKILL an API after it sends a change to a workflow',
  'SIGKILL a worker after it saves a change',
  'SIGKILL a worker after it sends a webhook',
  'SIGKILL Temporal',
  'SIGKILL everything at once',
  'an immediate stop of Postgres',
  'a third of the commits fail with 40001 (serialization failure)',
  'black hole, worker to Temporal',
  'reset, API to Postgres',
  'one worker is 1 h fast, the other 1 h slow',
  'Postgres is restored from a copy',
];
