import type { Cell } from '../cell';
import { type Moment, MOMENTS } from '../deliveries/moments';
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

const deliveryCell = (name: string, moments: readonly Moment[]): DeliveryCell => ({
  name: `SIGKILL the only worker at one moment of a delivery${name}`,
  group: 'webhook delivery',
  variants: moments.map((moment) => moment.name),
});

const yields = ({ needs }: Moment): boolean => needs === 'a successor';

/** Two cells, so that ten seeds reach all moments. */
const DELIVERY_CELLS: DeliveryCell[] = [
  deliveryCell(
    '',
    MOMENTS.filter((moment) => !yields(moment)),
  ),
  deliveryCell(' that yields to the next one', MOMENTS.filter(yields)),
];

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
  ...DELIVERY_CELLS,
];
