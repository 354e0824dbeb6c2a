import { setTimeout as delay } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import { type Client, isGrpcServiceError } from '@temporalio/client';
import { trackBreaker } from '../telemetry/metrics';

/** A call that takes longer may meet a server that is unavailable. */
const SUSPICIOUS_MS = 1000;
/** An overloaded server is slow, and not unavailable. */
const PROBE_TIMEOUT_MS = 3000;
const PROBE_EVERY_MS = 500;

/**
 * The call changed nothing: the Temporal server is known to be unavailable, too many calls wait, the workflow refused, or
 * the order waits for `reconcile`. Repeating it is safe.
 */
export class NothingChanged extends Error {}

/** A seller's change has waited for too long for the seller's other changes. */
export class TooManyChanges extends NothingChanged {}

/** Calls to the Temporal server. Each has a deadline, in ms. */
export type TemporalCalls = ReturnType<typeof createTemporalCalls>;

/**
 * Tracks whether the Temporal server can be reached. Probes the server itself, not an order: a slow worker or a stuck
 * run does not mean that the server is unavailable. While the server answers, each slow call costs one probe, and a fast
 * call none.
 */
export function createTemporalCalls(client: Client) {
  const inFlight = new Set<Promise<unknown>>();
  const ending = new AbortController();
  let probing: Promise<void> | undefined;
  /** True from a failed probe until a successful one. */
  let isKnownDown = false;
  trackBreaker('temporal', () => Number(isKnownDown));

  async function isReachable(): Promise<boolean> {
    try {
      // Temporal reads the namespace from its database.
      const { namespace } = client.options;
      await client.withDeadline(Date.now() + PROBE_TIMEOUT_MS, () =>
        client.workflowService.describeNamespace({ namespace }),
      );
      return true;
    } catch (error) {
      return !isGrpcServiceError(error) || ![status.UNAVAILABLE, status.DEADLINE_EXCEEDED].includes(error.code);
    }
  }

  async function probe(): Promise<void> {
    while (!ending.signal.aborted && !(await isReachable())) {
      isKnownDown = true;
      await delay(PROBE_EVERY_MS, undefined, { signal: ending.signal, ref: false }).catch(() => undefined);
    }
    isKnownDown = false;
  }

  function suspect(): void {
    if (ending.signal.aborted) return;
    probing ??= probe().finally(() => (probing = undefined));
  }

  function track<T>(call: Promise<T>): Promise<T> {
    const tracked = call.finally(() => inFlight.delete(tracked));
    inFlight.add(tracked);
    return tracked;
  }

  const within = <T>(timeoutMs: number, call: () => Promise<T>): Promise<T> =>
    track(client.withDeadline(Date.now() + timeoutMs, call));

  return {
    /** Lets `drain` wait for a call that consists of several. */
    track,
    within,

    /**
     * Makes a call for which a caller waits. If it takes long, the server is probed.
     * @throws NothingChanged while Temporal is known to be unavailable
     */
    callIfUp: async <T>(timeoutMs: number, call: () => Promise<T>): Promise<T> => {
      if (isKnownDown) throw new NothingChanged('the Temporal server is unavailable');
      const timer = setTimeout(suspect, SUSPICIOUS_MS);
      try {
        return await within(timeoutMs, call);
      } finally {
        clearTimeout(timer);
      }
    },

    /** Resolves when the calls in flight have ended. A call that retries on a closed connection would end the process. */
    drain: async (): Promise<void> => {
      ending.abort();
      await Promise.allSettled([probing, ...inFlight]);
    },
  };
}

/** The gRPC error of a failed call to Temporal, which the SDK wraps in some calls. */
export function grpcErrorOf(error: unknown): { code: number; details: string } | undefined {
  const cause = error instanceof Error && isGrpcServiceError(error.cause) ? error.cause : error;
  return isGrpcServiceError(cause) ? cause : undefined;
}
