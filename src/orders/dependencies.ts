import type { Logger } from 'pino';
import type { OrderRules } from '../contracts/fields';
import type { RepaymentExampleBody } from '../contracts/order-schemas';
import type { Db } from '../db/pool';
import type { Order, OrderState } from '../domain/order';
import type { BreakerOptions } from '../domain/webhook';
import type { KeyRing } from '../encryption/key-ring';
import type { OrderWorkflows } from '../temporal/order-workflow-client';
import type { Quotas } from './quotas';
import type { OrderStarter } from './start-orders';

/** The dependencies and settings of the use cases. Times in ms. */
export interface OrderDependencies {
  db: Db;
  /** A smaller pool, so that a burst of new orders leaves connections to all other calls. */
  insertDb: Db;
  /** Encrypts secrets in Postgres. */
  keys: KeyRing;
  workflows: OrderWorkflows;
  starter: OrderStarter;
  /** Returns the state that an order's workflow has saved; undefined if it does not answer in time. Never rejects. */
  readWorkflow: (orderId: string) => Promise<OrderState | undefined>;
  rules: OrderRules;
  quotas: Quotas;
  /** Of the workers, which decides when the next probe of an endpoint is sent. */
  breaker: BreakerOptions;
  checkoutBaseUrl: string;
  /** The URL of the seller's page, without a slash at its end. */
  portalUrl: string;
  /**
   * What keeps the customer of such an order from checking out, as a sentence for its seller; undefined if nothing. The
   * hosted checkout answers; always undefined if the operator has another checkout.
   */
  checkoutObstacle: (order: Pick<Order, 'sandbox' | 'allowedPaymentTerms'>) => string | undefined;
  /**
   * The repayments of an amount for customers of a seller, before any order exists; the hosted checkout answers.
   * @throws Problem `not_found` without such a seller or its lender, `invalid_request` above the account's maximum
   */
  repaymentExample: (sellerId: string, amountPence: number) => Promise<RepaymentExampleBody>;
  expiresAfterMs: number | undefined;
  log: Logger;
}
