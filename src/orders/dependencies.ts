import type { Logger } from 'pino';
import type { OrderRules } from '../contracts/fields';
import type { Db } from '../db/pool';
import type { OrderWorkflows } from '../temporal/order-workflows';
import type { Asker } from './asker';
import type { Starter } from './starter';

/** What the use cases stand on. Times in ms. */
export interface OrderDependencies {
  db: Db;
  workflows: OrderWorkflows;
  starter: Starter;
  asker: Asker;
  rules: OrderRules;
  checkoutBaseUrl: string;
  expiresAfterMs: number | undefined;
  /** When the sweep takes over from the API's own try to start an order. */
  sweepStartAfterMs: number;
  log: Logger;
}
