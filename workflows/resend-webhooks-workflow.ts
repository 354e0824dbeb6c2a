import { continueAsNew, proxyActivities, sleep, workflowInfo } from '@temporalio/workflow';
import type { OrderActivities } from '../activities/order-activities';
import type { WebhookSelection } from '../src/domain/webhook';

const { findWebhooksToResend, requestResend } = proxyActivities<OrderActivities>({
  startToCloseTimeout: '30 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
});

/** Between two resends, in ms: receivers that were down should not be overwhelmed. */
const GAP_MS = 250;

/**
 * Resends the selected webhooks that exist now, oldest first, some a second. Can be watched and cancelled in the
 * Temporal UI.
 */
export async function resendWebhooksWorkflow(selection: WebhookSelection): Promise<void> {
  // Webhooks that are created meanwhile are sent anyway, and might come faster than they are resent.
  const { until = new Date().toISOString() } = selection;
  for (let after = selection.after; ;) {
    const page = await findWebhooksToResend({ ...selection, until, after });
    for (const { id, orderId } of page) {
      await requestResend.executeWithOptions({ summary: `webhook ${id}` }, [{ id, orderId }]);
      await sleep(GAP_MS);
    }
    after = page.at(-1)?.id;
    if (after === undefined) return;
    if (workflowInfo().continueAsNewSuggested)
      await continueAsNew<typeof resendWebhooksWorkflow>({ ...selection, until, after });
  }
}
