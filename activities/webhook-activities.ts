import { ApplicationFailure } from '@temporalio/activity';
import { ApplicationFailureCategory } from '@temporalio/common';
import type { Logger } from 'pino';
import { toWebhookTest } from '../src/contracts/webhook-mapper';
import type { Db } from '../src/db/pool';
import { type StaticHeaders, decryptCredentials } from '../src/db/secrets';
import {
  type WebhookEvent,
  type WebhookTestEvent,
  endUnsent,
  findWebhookEvent,
  findWebhookTest,
  recordAttempt,
} from '../src/db/webhook-events';
import {
  type BreakerOptions,
  type RetrySchedule,
  type WebhookState,
  endpointStateOf,
  originOf,
  retryDelay,
  yieldsToNext,
} from '../src/domain/webhook';
import type { KeyRing } from '../src/encryption/key-ring';
import { trackBreaker } from '../src/telemetry/metrics';
import { reportAttempt, reportEnded } from '../src/telemetry/report';
import { type Attempt, type WebhookTestAttempt, emptyAttempt, type WebhookSender } from '../src/webhooks/send';
import { createEndpointBreakers, createKeyedSemaphore } from '../src/webhooks/attempt-limits';
import { signWebhook } from '../src/webhooks/sign';

/** The state in which an attempt that is not retried leaves its event. */
const END_STATES = { delivered: 'delivered', failed: 'exhausted', gone: 'disabled' } as const;

/**
 * An older event no longer waits for its endpoint: its remaining attempts are made as the schedule requires, so that it
 * ends even if the endpoint never answers again. Longer than the schedule.
 */
const LONGEST_ENDPOINT_WAIT_MS = 4 * 86_400_000;

interface WebhookActivityOptions {
  db: Db;
  keys: KeyRing;
  sender: WebhookSender;
  schedule: RetrySchedule;
  /** Attempts that this process makes at the same time for one seller. */
  attemptsPerSeller: number;
  breaker: BreakerOptions;
  log: Logger;
}

/** What an attempt sends, and to whom. */
type Message = Omit<WebhookTestEvent, 'sellerName' | 'createdAt'> &
  Pick<WebhookEvent, 'id' | 'body'> & { traceparent?: string | null };

export type WebhookActivities = ReturnType<typeof createWebhookActivities>;

/**
 * Delivers webhooks: waits for a slot of the seller, signs, sends, and records the attempt. Each activity makes at most one
 * attempt. It is safe to repeat: receivers recognize a repeated webhook by its id.
 */
export function createWebhookActivities(options: WebhookActivityOptions) {
  const { db, keys, sender, schedule, attemptsPerSeller, log } = options;
  const sellerSlots = createKeyedSemaphore(attemptsPerSeller);
  const breakers = createEndpointBreakers(options.breaker, log);
  trackBreaker('webhook_endpoint', breakers.countOpen);

  async function withinLimit<T>(sellerId: string, work: () => Promise<T>): Promise<T> {
    const waitMs = sellerSlots.acquireOrWaitMs(sellerId);
    if (waitMs > 0) throw retryLater('the seller has as many attempts running as it may have', waitMs);
    const startedAt = performance.now();
    let isSent = true;
    try {
      return await work();
    } catch (error) {
      isSent = !(error instanceof ApplicationFailure);
      throw error;
    } finally {
      sellerSlots.release(sellerId, isSent ? performance.now() - startedAt : undefined);
    }
  }

  /** @param isScheduled false for a resend, which does not change the schedule */
  async function attempt(
    event: WebhookEvent & { url: string },
    isScheduled: boolean,
  ): Promise<{ state: WebhookState; delayMs: number | null; summary: string }> {
    const { outcome, retryAfterMs, ...result } = await signAndSend(event);
    const step = isScheduled ? event.steps + 1 : null;
    const delayMs =
      step !== null && outcome === 'failed'
        ? retryDelay(schedule, {
            attempt: step,
            hasSuccessor: event.hasSuccessor,
            retryAfterMs: retryAfterMs ?? 0,
            random: Math.random(),
          })
        : null;
    const isPending = delayMs !== null || (!isScheduled && outcome === 'failed');
    const end = isPending ? 'pending' : END_STATES[outcome];
    const state = await recordAttempt(db, event, { ...result, isScheduled, delayMs, state: end });
    reportAttempt(log, event, { step, outcome, ...result, state, delayMs });
    breakers.record(event, result);
    return { state, delayMs, summary: result.status === null ? (result.error ?? '') : `HTTP ${result.status}` };
  }

  async function signAndSend(message: Message): Promise<Omit<Attempt, 'operatorDetail'>> {
    const { id, url, body, sellerId, traceparent, readAt } = message;
    const { secrets, staticHeaders } = decryptCredentials(keys, sellerId, message);
    const timestamp = Math.floor(readAt.getTime() / 1000);
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
      headers: headersFor(url, staticHeaders),
      body,
      ...(traceparent != null && { traceparent }),
    });
    if (operatorDetail !== null) {
      const { host } = new URL(url);
      log.info({ webhook_id: id, seller_id: sellerId, host, reason: operatorDetail }, 'webhook not sent');
    }
    return attempt;
  }

  /**
   * Milliseconds until the next attempt of the schedule. A call that was repeated because a later event waits comes
   * before the time that the last attempt has set.
   */
  function untilDue({ waitMs, waitedMs, hasSuccessor }: WebhookEvent): number {
    if (waitMs === null) return 0;
    return hasSuccessor ? Math.min(waitMs, schedule.maxWaitWithSuccessorMs - (waitedMs ?? 0)) : waitMs;
  }

  return {
    /**
     * Makes the next attempt of an event's schedule. Fails until the delivery has ended, each time with the delay until the
     * next attempt.
     * @returns how it ended; `missing` if Postgres does not hold the event
     */
    async sendWebhook(webhookId: string): Promise<WebhookState | 'missing'> {
      const event = await findWebhookEvent(db, webhookId);
      if (!event) return 'missing';
      if (event.state !== 'pending') return event.state;
      const end = async (state: 'exhausted' | 'disabled') => {
        if (await endUnsent(db, webhookId, state)) reportEnded(log, event, state);
        return state;
      };
      // An earlier webhook got a 410, or the account's address was removed.
      if (!hasUrl(event) || event.isDisabled) return end('disabled');
      if (event.hasSuccessor && yieldsToNext(schedule, event.steps)) return end('exhausted');
      const dueInMs = untilDue(event);
      // The Temporal UI shows it as the last failure of a call that was repeated.
      if (dueInMs > 0)
        throw retryLater(`attempt ${event.steps}: ${event.lastResult}; the next is not due yet`, dueInMs);
      // The breaker is asked last: with its yes, this call is the endpoint's one probe.
      const { state, delayMs, summary } = await withinLimit(event.sellerId, () => {
        const breakerMs = event.ageMs > LONGEST_ENDPOINT_WAIT_MS ? 0 : breakers.passOrWaitMs(event);
        if (breakerMs > 0) throw retryLater('the endpoint has not answered several attempts in a row', breakerMs);
        return attempt(event, true);
      });
      if (state === 'pending') throw retryLater(`attempt ${event.steps + 1}: ${summary}`, delayMs ?? 0);
      return state;
    },

    /** Makes one attempt outside the schedule, whatever the event's state. Fails if none was made. */
    async resendWebhook(webhookId: string): Promise<void> {
      const event = await findWebhookEvent(db, webhookId);
      if (event && hasUrl(event)) await withinLimit(event.sellerId, () => attempt(event, false));
    },

    /** Sends a test webhook. The attempt is not recorded. Fails if none was made. */
    async sendTestWebhook(webhookId: string): Promise<WebhookTestAttempt> {
      const test = await findWebhookTest(db, webhookId);
      if (!test) throw ApplicationFailure.nonRetryable(`no test webhook ${webhookId}`, 'WebhookTestNotFound');
      const body = JSON.stringify(toWebhookTest(test));
      return withinLimit(test.sellerId, async () => {
        const result = await signAndSend({ ...test, id: webhookId, body });
        // A test that is answered ends the wait of an endpoint. Its failure is not counted.
        if (endpointStateOf(result) !== 'not_answering') breakers.record(test, result);
        return { ...result, body };
      });
    },
  };
}

/** The delivery has not ended: Temporal waits, and shows the message, which contains no URL, and the next attempt's time. */
function retryLater(message: string, delayMs: number): ApplicationFailure {
  const failure = ApplicationFailure.create({
    message,
    type: 'WebhookNotDelivered',
    // The service's own log and metrics report it.
    category: ApplicationFailureCategory.BENIGN,
    nextRetryDelay: Math.max(Math.round(delayMs), 1),
  });
  // The endpoint failed, not this code: the Temporal UI would show the stack beside the message.
  failure.stack = '';
  return failure;
}

const hasUrl = (event: WebhookEvent): event is WebhookEvent & { url: string } => event.url !== null;

/** @returns undefined if there are no headers for the origin of this URL */
function headersFor(url: string, staticHeaders: StaticHeaders | undefined): Record<string, string> | undefined {
  if (staticHeaders === undefined || originOf(url) !== staticHeaders.origin) return undefined;
  return Object.keys(staticHeaders.headers).length === 0 ? undefined : staticHeaders.headers;
}
