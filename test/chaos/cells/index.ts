import type { Cell } from '../cell';
import { type Moment, MOMENTS } from '../deliveries/moments';
import { CLOCK_CELLS } from './clocks';
import { DATABASE_CELLS } from './database';
import { DEPLOYMENT_CELLS } from './deployment';
import { NETWORK_CELLS } from './network';
import { OPERATOR_CELLS } from './operators';
import { PROCESS_CELLS } from './process';
import { RECEIVER_CELLS } from './receiver';
import { RESTORE_CELLS } from './restores';
import { SIDE_EFFECT_CELLS } from './side-effects';

/** A run of such a cell has a service of its own, one victim, and a receiver that holds responses back. */
export interface DeliveryCell {
  name: string;
  group: 'webhook delivery';
  moment: Moment;
}

export const DELIVERY_CELLS: DeliveryCell[] = MOMENTS.map((moment) => ({
  name: `SIGKILL the worker when ${moment.name}`,
  group: 'webhook delivery',
  moment,
}));

export type AnyCell = Cell | DeliveryCell;

export const CELLS: AnyCell[] = [
  ...PROCESS_CELLS,
  ...DATABASE_CELLS,
  ...NETWORK_CELLS,
  ...RECEIVER_CELLS,
  ...DEPLOYMENT_CELLS,
  ...SIDE_EFFECT_CELLS,
  ...RESTORE_CELLS,
  ...CLOCK_CELLS,
  ...OPERATOR_CELLS,
  ...DELIVERY_CELLS,
];
