import type { Logger } from 'pino';
import type { OrderRules } from '../contracts/fields';
import type { Db } from '../db/pool';
import type { PaymentProvider } from '../payments/payment-provider';
import type { OrderWorkflows } from '../temporal/order-workflows';
import type { LiveOrderReader } from './background/live-order-reader';
import type { WorkflowDispatcher } from './background/workflow-dispatcher';

/** The dependencies and settings of the use cases. Times in ms. */
export interface OrderDependencies {
  db: Db;
  workflows: OrderWorkflows;
  dispatcher: WorkflowDispatcher;
  liveOrders: LiveOrderReader;
  rules: OrderRules;
  /** Takes the payments of the hosted checkout; undefined without one. */
  payments: PaymentProvider | undefined;
  checkoutBaseUrl: string;
  expiresAfterMs: number | undefined;
  /** The time after which the sweep starts a new order's workflow that the dispatcher has not started. */
  sweepStartAfterMs: number;
  log: Logger;
}
