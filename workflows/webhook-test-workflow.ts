import { proxyActivities } from '@temporalio/workflow';
import type { WebhookActivities, WebhookTestAttempt } from '../activities/webhook-activities';
import { WEBHOOK_TASK_QUEUE } from './messages';

/**
 * Sends one test webhook from the workers that send all webhooks, so that the same addresses and rules apply. Its URL,
 * which may be a credential, is in Postgres only.
 */
export async function webhookTestWorkflow(webhookId: string): Promise<WebhookTestAttempt> {
  const { sendTestWebhook } = proxyActivities<WebhookActivities>({
    taskQueue: WEBHOOK_TASK_QUEUE,
    // The caller of the API waits for the result.
    scheduleToCloseTimeout: '25 seconds',
    startToCloseTimeout: '20 seconds',
    retry: { initialInterval: '500 milliseconds', maximumInterval: '2 seconds' },
    summary: 'test webhook',
  });
  // A repeated attempt has the same id, so it must have the same content.
  return sendTestWebhook(webhookId, new Date().toISOString());
}
