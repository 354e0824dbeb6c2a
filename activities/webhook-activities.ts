import { ApplicationFailure } from '@temporalio/activity';
import { ApplicationFailureCategory } from '@temporalio/common';
import type { WebhookState } from '../src/domain/webhook';
import { markExhausted } from '../src/db/webhook-attempts';
import { findWebhookEvent } from '../src/db/webhook-events';
import { findWebhookTest } from '../src/db/webhook-tests';
import { whileSuccessorWaits } from '../src/domain/retry-schedule';
import { reportAttempt, reportEnded } from '../src/telemetry/report';
import type { WebhookTestAttempt } from '../src/webhooks/attempt';
import {
  type DeliveryOptions,
  type DeliveryState,
  type ScheduledAttempt,
  createDelivery,
} from '../src/webhooks/deliver';
import { DeliveryBusy, DeliveryWaits } from '../src/webhooks/delivery-delayed';
import type { QueuedWebhook } from './order-activities';

/**
 * The state of an event after an attempt, and its progress if it is pending. `missing`: Postgres does not hold the event.
 * `waiting`: no attempt was made, and the next call makes sense after `waitMs` milliseconds. `webhooksDisabled`: a 410
 * still disables the webhooks of the order. False if a resend of another one was delivered after it.
 */
export type WebhookResult =
  | { state: 'waiting'; waitMs: number; reason: string }
  | { state: Exclude<WebhookState, 'pending' | 'disabled'> | 'missing'; lastError?: string }
  | { state: 'disabled'; webhooksDisabled: boolean; lastError?: string }
  | ({ state: 'pending'; lastError?: string } & Pick<
      QueuedWebhook,
      'attempts' | 'waitMs' | 'waitWithSuccessorMs' | 'yieldsToNext'
    >);

export type WebhookActivityOptions = Omit<DeliveryOptions, 'onAttempt'>;

/** Delivery attempts. Each is safe to repeat. */
export function createWebhookActivities(options: WebhookActivityOptions) {
  const { db, schedule, log } = options;
  const delivery = createDelivery({ ...options, onAttempt: (recorded) => reportAttempt(log, recorded) });

  function toResult(event: DeliveryState | undefined): WebhookResult {
    if (!event) return { state: 'missing' };
    const { state, attempts, waitMs, webhooksDisabled } = event;
    const error = event.lastError !== undefined && { lastError: event.lastError };
    if (state === 'pending') return { state, ...error, attempts, waitMs, ...whileSuccessorWaits(schedule, event) };
    return state === 'disabled' ? { state, ...error, webhooksDisabled } : { state, ...error };
  }

  /**
   * A short wait is a retry of the activity, which adds nothing to Temporal's history. A long one is the workflow's.
   */
  async function deliver(delivering: Promise<DeliveryState | undefined>): Promise<WebhookResult> {
    try {
      return toResult(await delivering);
    } catch (error) {
      if (!(error instanceof DeliveryWaits)) return retryLater(error);
      return { state: 'waiting', waitMs: error.waitMs, reason: error.message };
    }
  }

  return {
    sendWebhook: (attempt: ScheduledAttempt): Promise<WebhookResult> => deliver(delivery.send(attempt)),

    resendWebhook: (eventId: string): Promise<WebhookResult> => deliver(delivery.resend(eventId)),

    async sendTestWebhook(webhookId: string, at: string): Promise<WebhookTestAttempt> {
      const test = await findWebhookTest(db, webhookId);
      const attempt = test && (await delivery.sendTest(test, at).catch(retryLater));
      if (!attempt) throw ApplicationFailure.nonRetryable(`no test webhook ${webhookId}`, 'WebhookTestNotFound');
      return attempt;
    },

    /** Gives up a webhook that yields to a later one. */
    async exhaustWebhook(eventId: string): Promise<void> {
      if (!(await markExhausted(db, eventId))) return;
      const event = await findWebhookEvent(db, eventId);
      if (event) reportEnded(log, event, 'exhausted');
    },
  };
}

/** Frees the worker's slot for another webhook. No attempt was made. */
function retryLater(error: unknown): never {
  if (!(error instanceof DeliveryBusy)) throw error;
  throw ApplicationFailure.create({
    message: error.message,
    type: 'DeliveryBusy',
    category: ApplicationFailureCategory.BENIGN,
    nextRetryDelay: error.waitMs,
  });
}
