import { setTimeout as delay } from 'node:timers/promises';
import { CHANGES, type OrderArm } from './arms/order-arm';

/** The recording of an attempt and Temporal's visibility follow a little later than the webhook. */
const TRIES = 50;
const PAUSE_MS = 100;

/**
 * Checks that an arm has stored exactly the whole orders that it accepted: accepted = rows = workflows, and three
 * delivered webhooks for each.
 * @throws Error with the difference
 */
export async function reconcile(arm: OrderArm, accepted: number): Promise<void> {
  const expected = { orders: accepted, workflows: accepted, delivered: accepted * CHANGES };
  let stored = await arm.stored();
  const differs = (): boolean =>
    stored.orders !== expected.orders ||
    stored.delivered !== expected.delivered ||
    stored.workflows !== expected.workflows;
  for (let tries = 1; differs(); tries++) {
    if (tries === TRIES) {
      throw new Error(`the arm stored ${JSON.stringify(stored)} instead of ${JSON.stringify(expected)}`);
    }
    await delay(PAUSE_MS);
    stored = await arm.stored();
  }
}
