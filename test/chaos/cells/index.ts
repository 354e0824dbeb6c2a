import type { Cell } from '../cell';
import { CLOCK_CELLS } from './clocks';
import { DATABASE_CELLS } from './database';
import { DEPLOYMENT_CELLS } from './deployment';
import { EXPIRY_CELLS } from './expiry';
import { NETWORK_CELLS } from './network';
import { OPERATOR_CELLS } from './operators';
import { PROCESS_CELLS } from './process';
import { RECEIVER_CELLS } from './receiver';
import { RESTORE_CELLS } from './restores';
import { SIDE_EFFECT_CELLS } from './side-effects';

export const CELLS: Cell[] = [
  ...PROCESS_CELLS,
  ...DATABASE_CELLS,
  ...NETWORK_CELLS,
  ...RECEIVER_CELLS,
  ...DEPLOYMENT_CELLS,
  ...SIDE_EFFECT_CELLS,
  ...RESTORE_CELLS,
  ...CLOCK_CELLS,
  ...EXPIRY_CELLS,
  ...OPERATOR_CELLS,
];

/** The cells for CI, about five minutes: each breaks another mechanism of recovery. Seed 1 kills after a side effect. */
export const SHORT = [
  'signals to everything at once',
  'Postgres refuses or delays writes',
  'SIGKILL an API at side effects of orders',
  'SIGKILL a worker at side effects of deliveries',
  'a deployment that cannot continue running orders',
  'Postgres is restored from a copy',
];
