import { ApplicationFailure } from '@temporalio/activity';
import type { Logger } from 'pino';
import { toStatusWebhook } from '../src/contracts/order-mapper';
import { findOrder, type Refusal, insertRefusal, markRowBehind, commitChange } from '../src/db/orders';
import { findWebhooksToResend } from '../src/db/find-webhooks';
import type { Db } from '../src/db/pool';
import { findPendingWebhooks } from '../src/db/webhook-events';
import {
  type Order,
  type OrderChange,
  type OrderState,
  type RequestContext,
  isStatusChange,
  sequenceOf,
  stateOf,
} from '../src/domain/order';
import type { WebhookRef, WebhookSelection } from '../src/domain/webhook';
import { currentRequestContext } from '../src/telemetry/current-request-context';
import { reportChange, reportRefusedSignal } from '../src/telemetry/report';
import { ROW_BEHIND, ROW_CHANGED } from '../workflows/messages';

interface OrderActivityOptions {
  db: Db;
  checkoutBaseUrl: string;
  log: Logger;
  /** Resolves to false if nothing is resent, because the order waits for `reconcile`. */
  requestResend: (webhook: { id: string; orderId: string }) => Promise<boolean>;
}

/** A page of `resendWebhooksWorkflow`. */
const RESEND_PAGE = 100;

/** What a run that resumes an order begins with, and what an expiry depends on. */
interface ResumedOrder {
  state: OrderState;
  /** Until when the order does not expire (ISO 8601). Read when its expiry is due. */
  heldUntil: string | null;
  pendingWebhooks: WebhookRef[];
}

interface SaveRequest {
  orderId: string;
  change: OrderChange;
  /** What the change is made for. `receiveRequestContext` makes it the current one. */
  context: RequestContext | undefined;
}

export type OrderActivities = ReturnType<typeof createOrderActivities>;

/** Reads and writes of an order's row, and resends of many webhooks. Each is safe to repeat. */
export function createOrderActivities({ db, checkoutBaseUrl, log, requestResend }: OrderActivityOptions) {
  return {
    /** Reads an order from its row. */
    async readOrder(orderId: string): Promise<ResumedOrder> {
      const order = await findOrder(db, orderId);
      if (!order) throw ApplicationFailure.nonRetryable(`order ${orderId} has no row`, ROW_BEHIND);
      const state = stateOf(order.changes, order.expiresAt);
      return { state, heldUntil: order.heldUntil, pendingWebhooks: await findPendingWebhooks(db, orderId) };
    },

    /**
     * Saves a change: row, timeline and webhook event, all or nothing. A change that is saved already changes nothing.
     * @returns the webhook to send; null if there is none
     * @throws ApplicationFailure ROW_CHANGED if the row has another change, or ROW_BEHIND if it lacks earlier ones
     */
    async saveChange({ orderId, change }: SaveRequest): Promise<{ webhook: WebhookRef | null }> {
      const { version } = change;
      const order = await findOrder(db, orderId);
      if (!order || order.version < version - 1) {
        // A row that a restored backup has set back stays as it is until an operator runs `reconcile`.
        await markRowBehind(db, orderId, version - 1);
        throw ApplicationFailure.nonRetryable(`the row lacks version ${version - 1}: run reconcile`, ROW_BEHIND);
      }
      if (order.version >= version) {
        if (!isSaved(order, change))
          throw ApplicationFailure.nonRetryable(`the row has another version ${version}`, ROW_CHANGED);
        const pending = isStatusChange(change) ? await findPendingWebhooks(db, orderId) : [];
        const sequence = sequenceOf(order.changes, change);
        return { webhook: pending.find((webhook) => webhook.sequence === sequence) ?? null };
      }
      const webhook = toStatusWebhook(order, change, checkoutBaseUrl);
      const saved = await commitChange(db, orderId, change, webhook, currentRequestContext());
      // Another save came in between. The next attempt of this activity finds out which.
      if (!saved) throw new Error('the row has changed since it was read');
      reportChange(log, order, change);
      return { webhook: webhook && saved.isPending ? { id: webhook.id, sequence: webhook.sequence } : null };
    },

    /** Records a refused signal in the timeline. */
    async recordRefusal(refusal: Refusal): Promise<void> {
      const isNew = await insertRefusal(db, refusal);
      if (isNew) reportRefusedSignal(log, refusal);
    },

    findWebhooksToResend: (selection: WebhookSelection) => findWebhooksToResend(db, selection, RESEND_PAGE),
    requestResend,
  };
}

function isSaved({ changes }: Order, { version, event, at }: OrderChange): boolean {
  const saved = changes[version - 1];
  return saved?.event === event && saved.at === at;
}
