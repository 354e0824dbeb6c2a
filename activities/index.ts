import { ApplicationFailure } from '@temporalio/activity';
import { ApplicationFailureCategory } from '@temporalio/common';
import type { Attachments } from '../src/contracts/order';
import { toOrderBody } from '../src/contracts/order';
import { toOrderStatusChanged } from '../src/contracts/webhook';
import { findOrder } from '../src/db/orders';
import type { Db } from '../src/db/pool';
import type { Refusal } from '../src/db/save-order';
import { RowConflict, insertRefusal, saveOrder } from '../src/db/save-order';
import { liveWebhookSecrets } from '../src/db/sellers';
import type { PendingWebhook as StoredWebhook, WebhookEvent, WebhookState } from '../src/db/webhooks';
import { exhaustWebhook, findPendingWebhooks, findWebhookEvent, recordAttempt } from '../src/db/webhooks';
import type { OrderChange, OrderHistory } from '../src/domain/order';
import { orderAt } from '../src/domain/order';
import type { RetrySchedule } from '../src/domain/retry-schedule';
import { givesWay, retryDelay } from '../src/domain/retry-schedule';
import type { WebhookSender } from '../src/webhooks/send';
import { createShare } from '../src/webhooks/share';
import { signWebhook } from '../src/webhooks/sign';

export interface ActivityDependencies {
  db: Db;
  sender: WebhookSender;
  schedule: RetrySchedule;
  /** Attempts that this worker makes at once for one seller. */
  attemptsPerSeller: number;
  checkoutBaseUrl: string;
  /** ms until the sweep looks after a saved order. */
  checkAfterMs: number;
}

/** An unsettled webhook, and whether it failed so often that it gives way to a later one. */
export interface PendingWebhook extends StoredWebhook {
  givesWay: boolean;
}

/** What became of a webhook by an attempt at it. */
export type WebhookResult = { state: WebhookState | 'missing' } & Pick<PendingWebhook, 'nextAttemptAt' | 'givesWay'>;

/** How an event ends that is not tried again. */
const END_STATES = { delivered: 'delivered', failed: 'exhausted', gone: 'disabled' } as const;

export type Activities = ReturnType<typeof createActivities>;

/** What order workflows have done in the world: thin adapters, each safe to be run again after it was lost half way. */
export function createActivities(dependencies: ActivityDependencies) {
  const { db, sender, schedule, checkoutBaseUrl, checkAfterMs } = dependencies;
  const share = createShare(dependencies.attemptsPerSeller);
  const forLane = (pending: StoredWebhook[]): PendingWebhook[] =>
    pending.map((event) => ({ ...event, givesWay: givesWay(schedule, event.attempts) }));

  return {
    /** The order as the row holds it, for a run that resumes it. */
    async loadOrder(orderId: string): Promise<{ history: OrderHistory; pendingWebhooks: PendingWebhook[] }> {
      const stored = await findOrder(db, orderId);
      if (!stored) throw ApplicationFailure.nonRetryable(`there is no order ${orderId}`, 'OrderNotFound');
      const pendingWebhooks = forLane(await findPendingWebhooks(db, orderId));
      return { history: { order: stored.order, changes: stored.changes }, pendingWebhooks };
    },

    /** Row, timeline and webhook event in one transaction; returns the order's unsettled webhooks. */
    async saveOrder(history: OrderHistory): Promise<PendingWebhook[]> {
      const webhookBody = (change: OrderChange, sequence: number, attachments: Attachments): string => {
        const order = toOrderBody(orderAt(history, change), attachments, checkoutBaseUrl);
        return JSON.stringify(toOrderStatusChanged(change, order, sequence));
      };
      try {
        return forLane(await saveOrder(db, history, { webhookBody, checkAfterMs }));
      } catch (error) {
        if (error instanceof RowConflict) throw ApplicationFailure.nonRetryable(error.message, 'RowConflict');
        throw error;
      }
    },

    /** Leaves a line in the timeline for a refused signal. */
    async recordRefusal(refusal: Refusal): Promise<void> {
      await insertRefusal(db, refusal);
    },

    /** One attempt at one webhook. An attempt that an earlier, lost run of this activity wrote down is not made again. */
    async sendWebhook(input: { eventId: string; attempt: number; othersWait: boolean }): Promise<WebhookResult> {
      const { eventId, attempt, othersWait } = input;
      const event = await findWebhookEvent(db, eventId);
      if (!event) return { state: 'missing', nextAttemptAt: null, givesWay: false };
      if (event.state !== 'pending' || event.attempts >= attempt) return toResult(event);

      if (!share.take(event.sellerId)) throw sellerIsBusy();
      try {
        return await attemptDelivery(event, attempt, othersWait);
      } finally {
        share.giveBack(event.sellerId);
      }
    },

    /** Parks a webhook that gives way to a later one. */
    async exhaustWebhook(eventId: string): Promise<void> {
      await exhaustWebhook(db, eventId);
    },
  };

  async function attemptDelivery(event: WebhookEvent, attempt: number, othersWait: boolean): Promise<WebhookResult> {
    const { id, url, body } = event;
    const at = new Date();
    const timestamp = Math.floor(at.getTime() / 1000);
    const secrets = await liveWebhookSecrets(db, event.sellerId);
    const signature = signWebhook(secrets, id, timestamp, body);
    const { outcome, retryAfterMs, ...result } = await sender.send({ url, id, timestamp, signature, body });
    const floorMs = retryAfterMs ?? 0;
    const delayMs =
      outcome === 'failed' ? retryDelay(schedule, { attempt, othersWait, floorMs, random: Math.random() }) : null;
    const nextAttemptAt = delayMs === null ? null : new Date(Date.now() + delayMs);
    const state = nextAttemptAt ? 'pending' : END_STATES[outcome];
    await recordAttempt(db, {
      eventId: id,
      attempt,
      at,
      durationMs: result.durationMs,
      status: result.status,
      error: result.error,
      errorDetail: result.errorDetail,
      address: result.peerAddress,
      responseBody: result.responseBody,
      state,
      nextAttemptAt,
    });
    return toResult({ state, attempts: attempt, nextAttemptAt });
  }

  function toResult({ state, attempts, nextAttemptAt }: Pick<WebhookEvent, 'state' | 'attempts' | 'nextAttemptAt'>) {
    return { state, nextAttemptAt: nextAttemptAt?.toISOString() ?? null, givesWay: givesWay(schedule, attempts) };
  }
}

/** Gives the slot to another seller's webhook and comes back soon; this is no attempt. */
function sellerIsBusy(): ApplicationFailure {
  return ApplicationFailure.create({
    message: 'as many attempts as one seller may have at once are under way',
    type: 'SellerIsBusy',
    category: ApplicationFailureCategory.BENIGN,
    nextRetryDelay: 500 + Math.random() * 1500,
  });
}
