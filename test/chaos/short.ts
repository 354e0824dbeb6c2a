/** The cells for CI, about four minutes: each breaks another mechanism of recovery. Seed 1 kills after a side effect. */
export const SHORT = [
  'signals to everything at once',
  'Postgres refuses or delays writes',
  'SIGKILL an API at side effects of orders',
  'SIGKILL a worker at side effects of deliveries',
  'a deployment that cannot continue running orders',
  'Postgres is restored from a copy',
];
