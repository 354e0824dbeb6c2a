import { ApplicationFailure } from '@temporalio/activity';
import { ApplicationFailureCategory } from '@temporalio/common';
import type { Attachments, OrderChange, OrderHistory } from '../src/domain/order';
import { toOrderBody } from '../src/contracts/order-mapper';
import { toOrderStatusChanged, toWebhookTest } from '../src/contracts/webhook-mapper';
import type { WebhookState, WebhookTestInput } from '../src/domain/webhook';
import { applicationWaits } from '../src/db/applications';
import { findOrder } from '../src/db/orders';
import type { Db } from '../src/db/pool';
import type { Refusal } from '../src/db/save-order';
import { RowConflict, insertRefusal, saveOrder } from '../src/db/save-order';
import { findSeller, liveWebhookSecrets } from '../src/db/sellers';
import { sweepSoon } from '../src/db/sweep';
import type { EventState, PendingWebhook as StoredWebhook, Resend, WebhookEvent } from '../src/db/webhooks';
import {
  claimAttempt,
  exhaustWebhook,
  findPendingWebhooks,
  findResends,
  findWebhookEvent,
  recordAttempt,
} from '../src/db/webhooks';
import { orderAt } from '../src/domain/order';
import type { RetrySchedule } from '../src/domain/retry-schedule';
import { yieldsToNext, retryDelay } from '../src/domain/retry-schedule';
import type { Lender } from '../src/lender/lender';
import type { Attempt, WebhookTestAttempt } from '../src/webhooks/attempt';
import { emptyAttempt } from '../src/webhooks/attempt';
import type { WebhookSender } from '../src/webhooks/send';
import { createKeyedSemaphore } from '../src/webhooks/keyed-semaphore';
import { signWebhook } from '../src/webhooks/sign';
import type { LenderResponse } from './ask-lender';
import { askLender } from './ask-lender';

export type { LenderResponse, Resend, WebhookTestAttempt };

export interface ActivityDependencies {
  db: Db;
  sender: WebhookSender;
  schedule: RetrySchedule;
  /** Attempts that this worker makes at once for one seller. */
  attemptsPerSeller: number;
  /** Who decides on the applications of the hosted checkout; undefined where there is none. */
  lender: Lender | undefined;
  checkoutBaseUrl: string;
  /** ms until the sweep looks after a saved order. */
  checkAfterMs: number;
}

/** An unsettled webhook, and whether it failed so often that it gives way to a later one. */
export interface PendingWebhook extends StoredWebhook {
  givesWay: boolean;
}

export interface LoadedOrder {
  history: OrderHistory;
  pendingWebhooks: PendingWebhook[];
  /** Left out by workers of before there was a resend. */
  resends?: Resend[];
  /** Likewise for applications. */
  applicationWaits?: boolean;
}

/** What became of a webhook by an attempt at it. */
export type WebhookResult = { state: WebhookState | 'missing' } & Pick<PendingWebhook, 'nextAttemptAt' | 'givesWay'>;

/** Longer than the 15 s of an attempt with what is read and written around it. */
const LANE_CLAIM_MS = 25_000;
/** A process that was frozen while it claimed may have slept through its claim. */
const CLAIM_SLACK_MS = 5000;

interface ScheduleStep {
  /** From 1. */
  attempt: number;
  /** Whether a later event waits for this one. */
  hasSuccessor: boolean;
}

type SignedWebhook = Pick<WebhookEvent, 'id' | 'url' | 'body' | 'sellerId'>;

/** How an event ends that is not tried again. */
const END_STATES = { delivered: 'delivered', failed: 'exhausted', gone: 'disabled' } as const;

export type Activities = ReturnType<typeof createActivities>;

/** What order workflows have done in the world: thin adapters, each safe to be run again after it was lost half way. */
export function createActivities(dependencies: ActivityDependencies) {
  const { db, sender, schedule, checkoutBaseUrl, checkAfterMs } = dependencies;
  const share = createKeyedSemaphore(dependencies.attemptsPerSeller);
  const forLane = (pending: StoredWebhook[]): PendingWebhook[] =>
    pending.map((event) => ({ ...event, givesWay: yieldsToNext(schedule, event.attempts) }));

  return {
    /** The order as the row holds it, for a run that resumes it. */
    async loadOrder(orderId: string): Promise<LoadedOrder> {
      const stored = await findOrder(db, orderId);
      if (!stored) throw ApplicationFailure.nonRetryable(`there is no order ${orderId}`, 'OrderNotFound');
      const pendingWebhooks = forLane(await findPendingWebhooks(db, orderId));
      const resends = await findResends(db, orderId);
      return {
        history: { order: stored.order, changes: stored.changes },
        pendingWebhooks,
        resends,
        applicationWaits: await applicationWaits(db, orderId),
      };
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
        if (!(error instanceof RowConflict)) throw error;
        await sweepSoon(db, history.order.id);
        throw ApplicationFailure.nonRetryable(error.message, 'RowConflict');
      }
    },

    /** Leaves a line in the timeline for a refused signal. */
    async recordRefusal(refusal: Refusal): Promise<void> {
      await insertRefusal(db, refusal);
    },

    /** One attempt at one webhook. An attempt that an earlier, lost run of this activity wrote down is not made again. */
    async sendWebhook(input: { eventId: string; attempt: number; hasSuccessor: boolean }): Promise<WebhookResult> {
      const { eventId, attempt, hasSuccessor } = input;
      const event = await findWebhookEvent(db, eventId);
      if (!event) return { state: 'missing', nextAttemptAt: null, givesWay: false };
      if (event.state !== 'pending' || event.attempts >= attempt) return toResult(event);
      return inShare(event.sellerId, () => attemptDelivery(event, { attempt, hasSuccessor }));
    },

    /** Asks the lender once what it makes of an order's application. */
    askLender: (orderId: string): Promise<LenderResponse> => askLender(db, dependencies.lender, orderId),

    /** One attempt outside the schedule, whatever state the webhook is in; one that was asked for is made once. */
    async resendWebhook(eventId: string): Promise<WebhookResult> {
      const event = await findWebhookEvent(db, eventId);
      if (!event) return { state: 'missing', nextAttemptAt: null, givesWay: false };
      if (!event.resendAsked) return toResult(event);
      return inShare(event.sellerId, () => attemptDelivery(event, null));
    },

    findResends: (orderId: string): Promise<Resend[]> => findResends(db, orderId),

    /** One attempt at a webhook that stands for nothing; it is not written down. */
    async sendTestWebhook({ sellerId, webhookId, url }: WebhookTestInput): Promise<WebhookTestAttempt> {
      const seller = await findSeller(db, sellerId);
      if (!seller) throw ApplicationFailure.nonRetryable(`there is no seller ${sellerId}`, 'SellerNotFound');
      return inShare(sellerId, async () => {
        const at = new Date();
        const body = JSON.stringify(toWebhookTest(seller, at));
        return { ...(await sendSigned({ id: webhookId, url, body, sellerId }, at)), body };
      });
    },

    /** Parks a webhook that gives way to a later one. */
    async exhaustWebhook(eventId: string): Promise<void> {
      await exhaustWebhook(db, eventId);
    },
  };

  async function inShare<T>(sellerId: string, work: () => Promise<T>): Promise<T> {
    if (!share.tryAcquire(sellerId)) throw notNow('as many attempts as one seller may have at once are under way');
    try {
      return await work();
    } finally {
      share.release(sellerId);
    }
  }

  /** @param step of the schedule; null for a resend, which moves nothing in it */
  async function attemptDelivery(event: WebhookEvent, step: ScheduleStep | null): Promise<WebhookResult> {
    await claimLane(event.id, step);
    const at = new Date();
    const { outcome, retryAfterMs, ...result } = await sendSigned(event, at);
    const delayMs =
      step && outcome === 'failed'
        ? retryDelay(schedule, { ...step, retryAfterMs: retryAfterMs ?? 0, random: Math.random() })
        : null;
    const nextAttemptAt = delayMs === null ? null : new Date(Date.now() + delayMs);
    const isOpen = nextAttemptAt !== null || (step === null && outcome === 'failed');
    const recorded = await recordAttempt(db, {
      eventId: event.id,
      step: step && step.attempt,
      at,
      durationMs: result.durationMs,
      ...result.phases,
      status: result.status,
      error: result.error,
      errorDetail: result.errorDetail,
      address: result.peerAddress,
      responseBody: result.responseBody,
      state: isOpen ? 'pending' : END_STATES[outcome],
      nextAttemptAt,
    });
    return toResult(recorded);
  }

  async function claimLane(eventId: string, step: ScheduleStep | null): Promise<void> {
    const claimedAt = performance.now();
    if (!(await claimAttempt(db, eventId, step && step.attempt, LANE_CLAIM_MS)))
      throw notNow('an attempt at a webhook of this order is under way');
    if (performance.now() - claimedAt > CLAIM_SLACK_MS) throw notNow('the claim took too long to be sure of');
  }

  async function sendSigned({ id, url, body, sellerId }: SignedWebhook, at: Date): Promise<Attempt> {
    const timestamp = Math.floor(at.getTime() / 1000);
    let signature: string;
    try {
      signature = signWebhook(await liveWebhookSecrets(db, sellerId), id, timestamp, body);
    } catch (error) {
      // A seller without a usable secret is a receiver in trouble like any other: on the schedule, and in the log.
      if (!(error instanceof RangeError || error instanceof TypeError)) throw error;
      return { ...emptyAttempt(), error: 'no_secret', errorDetail: 'the seller has no usable signing secret' };
    }
    return sender.send({ url, id, timestamp, signature, body });
  }

  function toResult({ state, attempts, nextAttemptAt }: EventState): WebhookResult {
    return { state, nextAttemptAt: nextAttemptAt?.toISOString() ?? null, givesWay: yieldsToNext(schedule, attempts) };
  }
}

/** Gives the slot to another webhook and comes back soon; this is no attempt. */
function notNow(message: string): ApplicationFailure {
  return ApplicationFailure.create({
    message,
    type: 'NotNow',
    category: ApplicationFailureCategory.BENIGN,
    nextRetryDelay: 500 + Math.random() * 1500,
  });
}
