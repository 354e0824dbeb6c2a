import { proxyActivities } from '@temporalio/workflow';
import type { Activities, WebhookTestAttempt } from '../activities';
import { toCodeSpan } from '../src/domain/markdown';
import type { WebhookTestInput } from '../src/domain/webhook';

/** Sends one test webhook from the workers that send all webhooks, so that the same addresses and rules apply. */
export async function webhookTestWorkflow(input: WebhookTestInput): Promise<WebhookTestAttempt> {
  const { sendTestWebhook } = proxyActivities<Activities>({
    // The caller of the API waits for the result.
    scheduleToCloseTimeout: '25 seconds',
    startToCloseTimeout: '20 seconds',
    retry: { initialInterval: '500 milliseconds', maximumInterval: '2 seconds' },
    summary: `test webhook to ${toCodeSpan(new URL(input.url).host)}`,
  });
  // A repeated attempt has the same id, so it must have the same content.
  return sendTestWebhook(input, new Date().toISOString());
}
