import type { Logger } from 'pino';
import type { OrderRules } from '../contracts/fields';
import type { Db } from '../db/pool';
import type { KeyRing } from '../encryption/key-ring';
import type { PaymentProviders } from '../payments/payment-provider';
import type { OrderWorkflows } from '../temporal/order-workflows';
import type { Admission } from './admission';
import type { LiveOrderReader } from './live-order-reader';
import type { WorkflowDispatcher } from './background/workflow-dispatcher';

/** The dependencies and settings of the use cases. Times in ms. */
export interface OrderDependencies {
  db: Db;
  /** Encrypts secrets in Postgres. */
  keys: KeyRing;
  workflows: OrderWorkflows;
  dispatcher: WorkflowDispatcher;
  admission: Admission;
  orderReader: LiveOrderReader;
  rules: OrderRules;
  payments: PaymentProviders;
  checkoutBaseUrl: string;
  /**
   * True if a real lender decides on the applications of live accounts. Those of sandbox accounts have the sandbox
   * lender.
   */
  hasLiveLender: boolean;
  expiresAfterMs: number | undefined;
  /** The time after which the sweep starts a new order's workflow that the dispatcher has not started. */
  sweepStartAfterMs: number;
  log: Logger;
}
