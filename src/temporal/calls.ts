import type { Client } from '@temporalio/client';
import { trackBreaker } from '../telemetry/metrics';
import { createAvailability } from './availability';

/** Calls to the Temporal server. Each has a deadline, in ms. */
export type TemporalCalls = ReturnType<typeof createTemporalCalls>;

export function createTemporalCalls(client: Client) {
  const inFlight = new Set<Promise<unknown>>();
  const availability = createAvailability(client);
  trackBreaker('temporal', () => Number(availability.isKnownDown));

  const track = <T>(call: Promise<T>): Promise<T> => {
    const tracked = call.finally(() => inFlight.delete(tracked));
    inFlight.add(tracked);
    return tracked;
  };
  const within = <T>(timeoutMs: number, call: () => Promise<T>): Promise<T> =>
    track(client.withDeadline(Date.now() + timeoutMs, call));

  /** Makes a call for which a caller waits. @throws CallNotMade while Temporal is known to be unavailable */
  const callWithin = async <T>(timeoutMs: number, call: () => Promise<T>): Promise<T> => {
    await availability.waitUntilUp();
    return availability.call(() => within(timeoutMs, call));
  };

  return {
    /** Lets `drain` wait for a call that consists of several. */
    track,
    within,

    callWithin,

    /** Resolves when the calls in flight have ended. A call that retries on a closed connection would end the process. */
    drain: async (): Promise<void> => {
      await Promise.allSettled([availability.end(), ...inFlight]);
    },
  };
}
