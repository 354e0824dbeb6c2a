import type { Logger } from 'pino';
import { toWebhookTest } from '../contracts/webhook-mapper';
import type { WebhookTest } from '../domain/webhook';
import { readClock } from '../db/clock';
import { type DeliveryLease, endDeliveryLease, leaseDelivery } from '../db/delivery-lease';
import type { Db } from '../db/pool';
import { activeWebhookSecrets, decryptSecrets } from '../db/secrets';
import { findSeller } from '../db/sellers';
import { recordAttempt } from '../db/webhook-attempts';
import { type BreakerOptions, type ProbeLease, originOf, postponeDeliveries } from '../db/endpoint-breaker';
import { type DeliveryProgress, type EventState, type WebhookEvent, findWebhookEvent } from '../db/webhook-events';
import type { KeyRing } from '../encryption/key-ring';
import { type RetrySchedule, retryDelay } from '../domain/retry-schedule';
import { type Attempt, type WebhookTestAttempt, emptyAttempt } from './attempt';
import { createCircuitBreaker } from './circuit-breaker';
import { DeliveryBusy, DeliveryWaits } from './delivery-delayed';
import { createKeyedSemaphore } from './keyed-semaphore';
import { monotonicMs } from './monotonic';
import type { WebhookSender } from './send';
import { signWebhook } from './sign';

/** Longer than the 15 s of an attempt and the time that taking the lease may need. The attempt ends before it. */
const LEASE_MS = 25_000;
/** On a slow database, or if the process was frozen, too little of the lease would be left for the attempt. */
const LEASE_MAX_DELAY_MS = 5000;

/** A wait that the activity's retries cover. During a longer one, the workflow can be asked for a resend. */
const LONGEST_RETRY_MS = 10_000;

/** The state in which an attempt that is not retried leaves its event. */
const END_STATES = { delivered: 'delivered', failed: 'exhausted', gone: 'disabled' } as const;

export interface DeliveryOptions {
  db: Db;
  /** Decrypts the secrets. */
  keys: KeyRing;
  sender: WebhookSender;
  schedule: RetrySchedule;
  /** Attempts that this process makes at the same time for one seller. */
  attemptsPerSeller: number;
  breaker: BreakerOptions;
  log: Logger;
  /** Called after each attempt that is recorded. */
  onAttempt: (recorded: RecordedAttempt) => void;
}

/** An attempt of the schedule, or of a resend, as Postgres has recorded it. */
export interface RecordedAttempt extends Pick<Attempt, 'outcome' | 'error' | 'status' | 'durationMs'> {
  /** As it was before the attempt. */
  webhook: WebhookEvent;
  /** The attempt's position in the retry schedule; null for a resend. */
  step: number | null;
  /** Of the webhook, after the attempt. */
  after: EventState;
}

/** An attempt of the retry schedule. */
export interface ScheduledAttempt {
  eventId: string;
  /** From 1. */
  attempt: number;
  /** True if a later event of the order waits for this one. */
  hasSuccessor: boolean;
}

/** An event's state after a call, and, unless it was a 410, why its attempt failed: a short code, without text from the receiver. */
export type DeliveryState = DeliveryProgress & { lastError?: string };

/** Each method makes at most one attempt. It is safe to call again if its result was lost. */
interface Delivery {
  /**
   * Makes one attempt of the schedule. An attempt that is recorded already is not made again.
   * @returns the event's state afterwards; undefined if there is no such event
   * @throws DeliveryBusy, DeliveryWaits
   */
  send(attempt: ScheduledAttempt): Promise<DeliveryState | undefined>;
  /**
   * Makes one attempt outside the schedule, whatever the event's state, if a resend is requested.
   * @returns the event's state afterwards; undefined if there is no such event
   * @throws DeliveryBusy, DeliveryWaits
   */
  resend(eventId: string): Promise<DeliveryState | undefined>;
  /**
   * Sends a test webhook. The attempt is not recorded.
   * @param createdAt the time in the webhook, ISO 8601
   * @returns undefined if there is no such seller
   * @throws DeliveryBusy
   */
  sendTest(input: WebhookTest, createdAt: string): Promise<WebhookTestAttempt | undefined>;
}

/** Delivers webhooks: takes the order's delivery lease, signs, sends, and records the attempt. */
export function createDelivery({
  db,
  keys,
  sender,
  schedule,
  attemptsPerSeller,
  breaker: breakerOptions,
  log,
  onAttempt,
}: DeliveryOptions): Delivery {
  const sellerSlots = createKeyedSemaphore(attemptsPerSeller);
  const breaker = createCircuitBreaker(db, breakerOptions, log);

  async function withinLimit<T>(sellerId: string, isUrgent: boolean, work: () => Promise<T>): Promise<T> {
    const waitMs = sellerSlots.tryAcquire(sellerId, isUrgent);
    if (waitMs > 0) throw new DeliveryBusy('the seller has as many attempts running as it may have', waitMs);
    const startedAt = monotonicMs();
    try {
      return await work();
    } finally {
      sellerSlots.release(sellerId, monotonicMs() - startedAt);
    }
  }

  /** @param scheduled null for a resend */
  async function deliver(event: WebhookEvent, scheduled: ScheduledAttempt | null): Promise<DeliveryState> {
    const isUrgent = scheduled === null && event.resendUrgent;
    await breaker.assertMayDeliver(event, isUrgent);
    try {
      return await withinLimit(event.sellerId, isUrgent, async () => {
        const probe = await breaker.leaseProbeIfOpen(event, isUrgent);
        if (!probe) return attempt(event, scheduled, undefined);
        return breaker.probe(event, probe, () => attempt(event, scheduled, probe));
      });
    } catch (error) {
      if (!(error instanceof DeliveryBusy) || error.waitMs <= LONGEST_RETRY_MS) throw error;
      await postponeDeliveries(db, event.id, error.waitMs);
      throw new DeliveryWaits(error.message, error.waitMs);
    }
  }

  /**
   * @param scheduled null for a resend, which does not change the schedule
   * @param probe undefined if the attempt is no probe
   */
  async function attempt(
    event: WebhookEvent,
    scheduled: ScheduledAttempt | null,
    probe: ProbeLease | undefined,
  ): Promise<DeliveryState> {
    // Before the lease is taken, so that the lease covers the attempt alone.
    const secrets = decryptSecrets(keys, event.sellerId, event.encryptedSecrets);
    const deadlineMs = monotonicMs() + LEASE_MS;
    const lease = await takeLease(event.id, scheduled);
    const { outcome, retryAfterMs, ...result } = await signAndSend(event, secrets, lease.at, deadlineMs);
    if (outcome === 'not_sent') {
      await endDeliveryLease(db, event.id, lease);
      throw new DeliveryBusy('the lease ended before the attempt was sent', retrySoonMs());
    }
    const delayMs =
      scheduled && outcome === 'failed'
        ? retryDelay(schedule, { ...scheduled, retryAfterMs: retryAfterMs ?? 0, random: Math.random() })
        : null;
    const isPending = delayMs !== null || (scheduled === null && outcome === 'failed');
    const after = await recordAttempt(db, {
      eventId: event.id,
      step: scheduled && scheduled.attempt,
      lease,
      durationMs: result.durationMs,
      ...result.phases,
      status: result.status,
      error: result.error,
      errorDetail: result.errorDetail,
      address: result.peerAddress,
      responseBody: result.responseBody,
      state: isPending ? 'pending' : END_STATES[outcome],
      delayMs,
    });
    onAttempt({ webhook: event, step: scheduled && scheduled.attempt, outcome, ...result, after });
    // If this fails, the call is repeated, and finds the attempt recorded.
    await breaker.record(event, { ...result, at: lease.at }, probe);
    const lastError = result.status === null ? result.error : `HTTP ${result.status}`;
    return outcome !== 'failed' || lastError === null ? after : { ...after, lastError };
  }

  async function takeLease(eventId: string, scheduled: ScheduledAttempt | null): Promise<DeliveryLease> {
    const startedAt = monotonicMs();
    const lease = await leaseDelivery(db, eventId, scheduled && scheduled.attempt, LEASE_MS);
    if (!lease) throw new DeliveryBusy('another delivery attempt for this order is running', retrySoonMs());
    if (monotonicMs() - startedAt > LEASE_MAX_DELAY_MS) {
      await endDeliveryLease(db, eventId, lease);
      throw new DeliveryBusy('the database was so slow that the lease may expire during the attempt', retrySoonMs());
    }
    return lease;
  }

  async function signAndSend(
    {
      id,
      url,
      body,
      sellerId,
      traceparent,
    }: Pick<WebhookEvent, 'id' | 'url' | 'body' | 'sellerId'> & {
      traceparent?: string | null;
    },
    secrets: string[],
    at: Date,
    deadlineMs?: number,
  ): Promise<Omit<Attempt, 'operatorDetail'>> {
    const timestamp = Math.floor(at.getTime() / 1000);
    let signature: string;
    try {
      signature = signWebhook(secrets, id, timestamp, body);
    } catch (error) {
      // A seller without a usable secret is treated like a receiver that fails: retried, and visible in the log.
      if (!(error instanceof RangeError || error instanceof TypeError)) throw error;
      return { ...emptyAttempt(), error: 'no_secret', errorDetail: 'the seller has no usable webhook secret' };
    }
    const { operatorDetail, ...attempt } = await sender.send({
      url,
      id,
      timestamp,
      signature,
      body,
      ...(traceparent != null && { traceparent }),
      ...(deadlineMs !== undefined && { deadlineMs }),
    });
    if (operatorDetail !== null) {
      const { host } = new URL(url);
      log.info({ webhook_id: id, seller_id: sellerId, host, reason: operatorDetail }, 'webhook not sent');
    }
    return attempt;
  }

  return {
    async send(scheduled) {
      const event = await findWebhookEvent(db, scheduled.eventId);
      if (!event || event.state !== 'pending' || event.attempts >= scheduled.attempt) return event;
      return deliver(event, scheduled);
    },

    async resend(eventId) {
      const event = await findWebhookEvent(db, eventId);
      if (!event?.resendRequested) return event;
      return deliver(event, null);
    },

    async sendTest({ sellerId, webhookId, url }, createdAt) {
      const seller = await findSeller(db, sellerId);
      if (!seller) return undefined;
      return withinLimit(sellerId, true, async () => {
        const secrets = await activeWebhookSecrets(db, keys, sellerId);
        const at = await readClock(db);
        const body = JSON.stringify(toWebhookTest(seller, createdAt));
        const result = await signAndSend({ id: webhookId, url, body, sellerId }, secrets, at);
        await breaker.recordTest({ sellerId, origin: originOf(url) }, result);
        return { ...result, body };
      });
    },
  };
}

const retrySoonMs = (): number => 500 + Math.random() * 1500;
