import {
  ActivityCancellationType,
  ActivityFailure,
  CancellationScope,
  condition,
  isCancellation,
  proxyActivities,
} from '@temporalio/workflow';
import type { WebhookActivities } from '../activities/webhook-activities';
import { type OrderChange, isStatusChange } from '../src/domain/order';
import { isUuid } from '../src/domain/text';
import type { WebhookRef } from '../src/domain/webhook';
import { WEBHOOK_TASK_QUEUE } from './messages';

const { sendWebhook, resendWebhook } = proxyActivities<WebhookActivities>({
  taskQueue: WEBHOOK_TASK_QUEUE,
  // Longer than an attempt, which takes 15 s at most.
  startToCloseTimeout: '30 seconds',
  // If Postgres is unavailable, or the worker has died. A failed attempt sets the time of the next one itself.
  retry: { initialInterval: '1 second', maximumInterval: '1 minute' },
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
});

/** Delivers an order's webhooks in the order of their sequence: one activity each, retried for days. */
export class Deliveries {
  private readonly pending: WebhookRef[] = [];
  /** The activity that sends the first pending webhook, or waits for its next attempt. */
  private call: CancellationScope | undefined;
  private isStopping = false;

  /** @param changes of the order, to name the events to operators */
  constructor(private readonly changes: () => readonly OrderChange[]) {}

  get isEmpty(): boolean {
    return this.pending.length === 0;
  }

  add(webhooks: readonly WebhookRef[]): void {
    const hadSuccessor = this.pending.length > 1;
    this.pending.push(...webhooks);
    // The first one gets fewer attempts and shorter waits while another one waits for it.
    if (!hadSuccessor && this.pending.length > 1) this.callAgain();
  }

  /** Delivers until `stop`. */
  async run(): Promise<void> {
    while (!this.isStopping) {
      const [first] = this.pending;
      if (!first) await condition(() => !this.isEmpty || this.isStopping);
      else if (await this.deliver(first)) this.pending.shift();
    }
  }

  /** Ends `run`, after the attempt that is being made. */
  stop(): void {
    this.isStopping = true;
    this.callAgain();
  }

  /** Sends a webhook once more. If it is the first pending one, its delivery may have ended with that. */
  async resend(webhookId: string): Promise<void> {
    // A signal of a person can carry anything.
    if (!isUuid(webhookId)) return;
    await resendWebhook.executeWithOptions({ summary: `resend webhook ${webhookId}` }, [webhookId]);
    this.callAgain();
  }

  /** @returns false if the call was cancelled, to be made again */
  private async deliver({ id, sequence }: WebhookRef): Promise<boolean> {
    const event = this.changes().filter(isStatusChange)[sequence - 1]?.event ?? '';
    const options = { summary: `webhook ${sequence}: ${event}` };
    this.call = new CancellationScope();
    try {
      await this.call.run(() => sendWebhook.executeWithOptions(options, [id]));
      return true;
    } catch (error) {
      // The second: an attempt was being made, and failed.
      if (isCancellation(error) || (error instanceof ActivityFailure && error.retryState === 'CANCEL_REQUESTED'))
        return false;
      throw error;
    } finally {
      this.call = undefined;
    }
  }

  /** Ends the wait of the current call. The next call finds out what has changed. */
  private callAgain(): void {
    this.call?.cancel();
  }
}
