import type { Logger } from 'pino';
import type { OrderRules } from '../contracts/fields';
import type { Db } from '../db/pool';
import type { OrderWorkflows } from '../temporal/order-workflows';
import type { LiveOrderReader } from './background/live-order-reader';
import type { WorkflowDispatcher } from './background/workflow-dispatcher';

/** What the use cases depend on. Times in ms. */
export interface OrderDependencies {
  db: Db;
  workflows: OrderWorkflows;
  dispatcher: WorkflowDispatcher;
  liveOrders: LiveOrderReader;
  rules: OrderRules;
  checkoutBaseUrl: string;
  expiresAfterMs: number | undefined;
  /** Until the sweep starts the workflow of a new order if the dispatcher has not. */
  sweepStartAfterMs: number;
  log: Logger;
}
