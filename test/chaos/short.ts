/** The cells for CI, about five minutes: each breaks another mechanism of recovery. Seed 1 kills after a side effect. */
export const SHORT = [
  'signals to everything at once',
  'Postgres refuses or delays writes',
  'SIGKILL an API at side effects of orders',
  'SIGKILL an API at side effects of checkout pages',
  'SIGKILL a worker at side effects of changes and checkouts',
  'SIGKILL a worker at side effects of deliveries',
  'a deployment that cannot continue running orders',
  'Postgres is restored from a copy',
];
