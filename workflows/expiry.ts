import { sleep } from '@temporalio/workflow';
import { isFinal } from '../src/domain/status';
import { toUncheckedRequest } from './change-requests';
import { type OrderEntity, isAgreed } from './order-entity';
import { LOOPS, type Turns } from './turns';

/** Waits until the order expires, if an expiry is configured, and ends the order if it is still open then. */
export async function expireOrder(order: OrderEntity, turns: Turns): Promise<void> {
  const { expiresAt, status } = order.loaded.order;
  if (expiresAt === null || isFinal(status)) return;
  const untilExpiryMs = Math.max(Date.parse(expiresAt) - Date.now(), 1);
  await turns.wait(LOOPS.expiry, () => sleep(untilExpiryMs, { summary: 'until the order expires' }));
  try {
    await order.change(toUncheckedRequest({}, 'workflow', 'system', 'expired'));
  } catch (error) {
    if (!isAgreed(error)) throw error;
    // The customer agreed while the workflow was unavailable, so the agreement came first. A PENDING order whose payment is
    // recorded is completed by the DecisionPoller.
    await order.change(toUncheckedRequest({}, 'workflow', 'customer', 'completed'));
  }
}
