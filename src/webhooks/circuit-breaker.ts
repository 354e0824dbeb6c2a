import type { Logger } from 'pino';
import type { Db } from '../db/pool';
import {
  type BreakerOptions,
  type Endpoint,
  type ProbeLease,
  countUnanswered,
  closeBreaker,
  leaseProbe,
  releaseProbe,
  takeTurn,
} from '../db/endpoint-breaker';
import { insertWait } from '../db/timeline-notes';
import type { WebhookEvent } from '../db/webhook-events';
import type { AttemptError } from '../domain/webhook';
import type { Attempt } from './attempt';
import { DeliveryWaits } from './delivery-delayed';

/** Failures at which the endpoint has not answered. */
const UNANSWERED: readonly (AttemptError | null)[] = ['timeout', 'dns', 'refused', 'reset', 'tls', 'network'];

type Result = Pick<Attempt, 'status' | 'error'>;

/** Any response is an answer, even one that is not valid HTTP. */
const isAnswered = ({ status, error }: Result): boolean => status !== null || error === 'invalid_response';

/**
 * Stops attempts at endpoints that do not answer, whichever worker makes them. After some attempts in a row without an
 * answer the breaker opens: deliveries wait, and one at a time probes the endpoint. The first answer closes it.
 */
export function createCircuitBreaker(db: Db, options: BreakerOptions, log: Logger) {
  async function recordAnswer(endpoint: Endpoint): Promise<void> {
    const ended = await closeBreaker(db, endpoint);
    if (ended?.probeAt == null) return;
    log.info(
      { seller_id: endpoint.sellerId, endpoint: endpoint.origin, silent_since: ended.since, failures: ended.failures },
      'webhook endpoint answers again',
    );
  }

  /**
   * Gives an event its turn in the endpoint's queue.
   * @throws DeliveryWaits unless the endpoint has answered in the meantime
   */
  async function postponeUntilTurn(event: WebhookEvent, isUrgent: boolean): Promise<void> {
    const turn = await takeTurn(db, event, event.id, isUrgent);
    if (!turn) return;
    const silence = `has not answered since ${turn.since.toISOString()}`;
    if (turn.noteId !== null) await insertWait(db, event.orderId, turn.noteId, `${event.origin} ${silence}`);
    throw new DeliveryWaits(`the endpoint ${silence}`, turn.waitMs);
  }

  return {
    /** @throws DeliveryWaits if the breaker is open and this delivery may not probe the endpoint yet */
    async assertMayDeliver(event: WebhookEvent, isUrgent: boolean): Promise<void> {
      if (event.isBreakerOpen && !(isUrgent ? event.urgentProbeDue : event.probeDue))
        await postponeUntilTurn(event, isUrgent);
    },

    /**
     * @returns the lease of a probe; undefined if the attempt is none: the breaker is closed
     * @throws DeliveryWaits if another delivery probes the endpoint
     */
    async leaseProbeIfOpen(event: WebhookEvent, isUrgent: boolean): Promise<ProbeLease | undefined> {
      if (!event.isBreakerOpen) return undefined;
      const probe = await leaseProbe(db, event, isUrgent);
      if (!probe) await postponeUntilTurn(event, isUrgent);
      return probe;
    },

    /** Makes the attempt that probes an endpoint. If it throws, another delivery may probe. */
    async probe<T>(endpoint: Endpoint, probe: ProbeLease, attempt: () => Promise<T>): Promise<T> {
      try {
        return await attempt();
      } catch (error) {
        // Without Postgres, the lease of the probe expires.
        await releaseProbe(db, endpoint, probe).catch(() => undefined);
        throw error;
      }
    },

    /**
     * Counts an attempt. Logs one line when the breaker opens or closes.
     * @param probe undefined if the attempt is no probe
     */
    async record(event: WebhookEvent, result: Result & { at: Date }, probe: ProbeLease | undefined): Promise<void> {
      if (isAnswered(result)) {
        if (event.hasUnansweredAttempts) await recordAnswer(event);
        return;
      }
      if (!UNANSWERED.includes(result.error)) {
        // The attempt shows nothing about the endpoint, so another delivery may probe.
        if (probe) await releaseProbe(db, event, probe);
        return;
      }
      const { since, failures, probeAt } = await countUnanswered(db, event, options, result.at, probe);
      // The count passes the limit once, in one worker.
      if (failures !== options.failures) return;
      log.warn(
        {
          seller_id: event.sellerId,
          endpoint: event.origin,
          error: result.error,
          silent_since: since,
          failures,
          next_probe_at: probeAt,
        },
        'webhook endpoint does not answer: its deliveries wait',
      );
    },

    /** A test webhook can end the wait. Its failure is not counted. */
    async recordTest(endpoint: Endpoint, result: Result): Promise<void> {
      if (isAnswered(result)) await recordAnswer(endpoint);
    },
  };
}
