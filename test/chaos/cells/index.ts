import type { Cell } from '../cell';
import { MOMENTS } from '../deliveries/moments';
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

/** Its runs have a service of their own, one victim, and a receiver that holds responses back. */
export interface DeliveryCell extends Pick<Cell, 'name' | 'group' | 'variants'> {
  group: 'webhook delivery';
}

const DELIVERY_CELL: DeliveryCell = {
  name: 'SIGKILL the only worker at one moment of a delivery',
  group: 'webhook delivery',
  variants: MOMENTS.map(({ name }) => name),
};

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
  ...EXPIRY_CELLS,
  ...OPERATOR_CELLS,
  DELIVERY_CELL,
];
