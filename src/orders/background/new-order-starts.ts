import type { OrderHistory } from '../../domain/order';
import type { OrderWorkflows } from '../../temporal/order-workflows';
import { createAdaptiveLimit } from './adaptive-limit';
import { createStartDelay } from './start-delay';

/** Starts the workflows of new orders, which yield to everything else. */
export interface NewOrderStarts {
  /** How many may be started at the same time now. */
  readonly limit: number;
  /** @returns false if the order has ever had a workflow: then nothing is done */
  start(history: OrderHistory): Promise<boolean>;
}

/**
 * @param max starts at the same time
 * @param delayMs how long a new order's workflow waits for a first message
 */
export function createNewOrderStarts(workflows: OrderWorkflows, max: number, delayMs: number): NewOrderStarts {
  const inFlight = createAdaptiveLimit(max);
  const nextDelay = createStartDelay(delayMs);
  return {
    get limit() {
      return inFlight.current;
    },
    async start(history) {
      const startedAt = performance.now();
      try {
        return await workflows.start(history, nextDelay());
      } finally {
        inFlight.observe(performance.now() - startedAt);
      }
    },
  };
}
