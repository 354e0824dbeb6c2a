import { sleep } from '@temporalio/workflow';
import { isFinal } from '../src/domain/status';
import { toUncheckedRequest } from '../src/domain/unchecked-request';
import { CUSTOMER_AGREED_FAILURE } from '../src/domain/activity-failures';
import { type OrderEntity, whyNotExpired } from './order-entity';
import { LOOPS, type LoopScheduler } from './loop-scheduler';

/**
 * An expiry that waits for the bank is tried again after a quarter of the time since it was due, within these limits.
 */
const RETRY_MS = { min: 1000, max: 60_000 };

/**
 * Waits until the order expires, if an expiry is configured, and ends the order if it is still open then. While a bank
 * may still confirm a payment, the expiry waits: the customer may have approved it.
 */
export async function expireOrder(order: OrderEntity, scheduler: LoopScheduler): Promise<void> {
  const { expiresAt, status } = order.loaded.order;
  if (expiresAt === null || isFinal(status)) return;
  const sinceExpiryMs = () => Date.now() - Date.parse(expiresAt);
  const wait = (ms: number, summary: string) => scheduler.runCommand(LOOPS.expiry, () => sleep(ms, { summary }));
  await wait(Math.max(-sinceExpiryMs(), 1), 'until the order expires');
  while (!(await tryToExpire(order))) {
    await scheduler.waitToContinue(LOOPS.expiry);
    const { min, max } = RETRY_MS;
    await wait(Math.min(Math.max(sinceExpiryMs() / 4, min), max), 'until the expiry is tried again');
  }
}

/** @returns false if the expiry has to wait for the bank */
async function tryToExpire(order: OrderEntity): Promise<boolean> {
  try {
    await order.change(toUncheckedRequest({}, 'workflow', 'system', 'expired'));
  } catch (error) {
    const reason = whyNotExpired(error);
    if (reason === undefined) throw error;
    if (reason !== CUSTOMER_AGREED_FAILURE) return false;
    // The customer agreed while the workflow was unavailable, so the agreement came first. A PENDING order whose
    // payment is recorded is completed by the DecisionPoller.
    await order.change(toUncheckedRequest({}, 'workflow', 'customer', 'completed'));
  }
  return true;
}
