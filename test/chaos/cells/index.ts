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
