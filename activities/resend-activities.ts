import { findOrder } from '../src/db/find-orders';
import { findWebhooksToResend } from '../src/db/find-webhooks';
import type { Db } from '../src/db/pool';
import { type Order, isFinal } from '../src/domain/order';
import type { WebhookSelection } from '../src/domain/webhook';

/** A page of `resendWebhooksWorkflow`. */
const PAGE = 100;

interface ResendActivityOptions {
  db: Db;
  /** Has the order's workflow send the webhook once more. Resolves to false if the order has completed since it was read. */
  resend: (order: Order, eventId: string) => Promise<boolean>;
}

export type ResendActivities = ReturnType<typeof createResendActivities>;

/** Resends of many webhooks. */
export function createResendActivities({ db, resend }: ResendActivityOptions) {
  return {
    findWebhooksToResend: (selection: WebhookSelection): Promise<{ id: string; orderId: string }[]> =>
      findWebhooksToResend(db, selection, PAGE),

    async requestResend({ id, orderId }: { id: string; orderId: string }): Promise<void> {
      const order = await findOrder(db, orderId);
      // An order that waits for `reconcile` is left out: a new run would begin without the changes that its row lacks.
      if (order?.behindVersion !== null) return;
      if (await resend(order, id)) return;
      const latest = await findOrder(db, orderId);
      if (latest && isFinal(latest.status)) await resend(latest, id);
    },
  };
}
