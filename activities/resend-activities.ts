import { findOrder } from '../src/db/find-orders';
import { type WebhookSelection, findWebhooksToResend } from '../src/db/find-webhooks';
import type { Db } from '../src/db/pool';
import type { OrderWorkflows } from '../src/temporal/order-workflows';

/** A page of `resendWebhooksWorkflow`. */
const PAGE = 100;

/** Resends of many webhooks. */
export function createResendActivities({ db, workflows }: { db: Db; workflows: OrderWorkflows }) {
  return {
    findWebhooksToResend: (selection: WebhookSelection): Promise<{ id: string; orderId: string }[]> =>
      findWebhooksToResend(db, selection, PAGE),

    async requestResend({ id, orderId }: { id: string; orderId: string }): Promise<void> {
      const stored = await findOrder(db, orderId);
      if (stored) await workflows.resendWebhook(stored.order, id);
    },
  };
}
