import { ApplicationFailure } from '@temporalio/activity';
import { ApplicationFailureCategory } from '@temporalio/common';
import { findWebhookTest } from '../src/db/webhook-events';
import type { WebhookState } from '../src/domain/webhook';
import { trackBreaker } from '../src/telemetry/metrics';
import { reportAttempt, reportEnded } from '../src/telemetry/report';
import type { WebhookTestAttempt } from '../src/webhooks/attempt';
import { type DeliveryOptions, RetryLater, createDelivery } from '../src/webhooks/deliver';

export type { WebhookTestAttempt };
export type WebhookActivities = ReturnType<typeof createWebhookActivities>;
export type WebhookActivityOptions = Omit<DeliveryOptions, 'onAttempt' | 'onEnded'>;

/** Delivery attempts. Each is safe to repeat: receivers recognize a repeated webhook by its id. */
export function createWebhookActivities(options: WebhookActivityOptions) {
  const { db, log } = options;
  const delivery = createDelivery({
    ...options,
    onAttempt: (recorded) => reportAttempt(log, recorded),
    onEnded: (event, state) => reportEnded(log, event, state),
  });

  trackBreaker('webhook_endpoint', delivery.countSilentEndpoints);

  return {
    /**
     * Makes one attempt. Fails until the delivery has ended, each time with the delay until the next attempt.
     * @returns how it ended; `missing` if Postgres does not hold the event
     */
    sendWebhook: (call: { webhookId: string; hasSuccessor: boolean }): Promise<WebhookState | 'missing'> =>
      delivery.send(call).catch(retryLater),

    /** Makes one attempt, whatever state the event is in. */
    resendWebhook: (webhookId: string): Promise<void> => delivery.resend(webhookId).catch(retryLater),

    async sendTestWebhook(webhookId: string): Promise<WebhookTestAttempt> {
      const test = await findWebhookTest(db, webhookId);
      const attempt = test && (await delivery.sendTest(test).catch(retryLater));
      if (!attempt) throw ApplicationFailure.nonRetryable(`no test webhook ${webhookId}`, 'WebhookTestNotFound');
      return attempt;
    },
  };
}

/** Temporal waits, and shows the message and the time of the next attempt. */
function retryLater(error: unknown): never {
  if (!(error instanceof RetryLater)) throw error;
  const failure = ApplicationFailure.create({
    message: error.message,
    type: 'WebhookNotDelivered',
    // The service's own log and metrics report it.
    category: ApplicationFailureCategory.BENIGN,
    nextRetryDelay: Math.max(Math.round(error.delayMs), 1),
  });
  // The endpoint failed, not this code: the Temporal UI would show the stack beside the message.
  failure.stack = '';
  throw failure;
}
