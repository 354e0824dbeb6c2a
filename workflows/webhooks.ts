import { condition, proxyActivities } from '@temporalio/workflow';
import type { Activities, PendingWebhook } from '../activities';
import { WEBHOOK_TASK_QUEUE } from './messages';

/** The delivery lane of one order: its webhooks one at a time, in the order of their sequence. */
export class DeliveryLane {
  private queue: PendingWebhook[] = [];

  /**
   * Takes up the order's unsettled webhooks as a save found them. What it knows stays as it is; what it does not may
   * also be older than what it has (a restored backup's).
   */
  add(pending: readonly PendingWebhook[]): void {
    const unknown = pending.filter(({ id }) => !this.queue.some((known) => known.id === id));
    this.queue = [...this.queue, ...unknown.map((event) => ({ ...event }))].sort((a, b) => a.sequence - b.sequence);
  }

  get isEmpty(): boolean {
    return this.queue.length === 0;
  }

  /** For people: what is on its way, and for which time. */
  describe(): string | undefined {
    const head = this.queue[0];
    if (!head) return undefined;
    return head.nextAttemptAt === null
      ? `webhook ${head.sequence} is being sent`
      : `webhook ${head.sequence}: attempt ${head.attempts + 1} at ${head.nextAttemptAt}`;
  }

  /**
   * Waits for the head's time and makes one attempt at it. Returns early when `interrupted` turns true.
   * @returns false where Postgres does not know the head: the row is older than the workflow
   */
  async step(interrupted: () => boolean): Promise<boolean> {
    const head = this.queue[0];
    if (!head) return true;
    if (head.nextAttemptAt !== null) {
      const waitMs = Date.parse(head.nextAttemptAt) - Date.now();
      const summary = `webhook ${head.sequence}: until attempt ${head.attempts + 1}`;
      const wakeUp = (): boolean => interrupted() || this.mustGiveWay() || this.queue[0] !== head;
      if (waitMs > 0) await condition(wakeUp, waitMs, { summary });
      // Something older may have come in front of it meanwhile.
      if (interrupted() || this.queue[0] !== head) return true;
    }
    if (this.mustGiveWay()) {
      await exhaust(head);
      this.remove(head);
      return true;
    }
    const attempt = head.attempts + 1;
    const result = await send(head, attempt, this.queue.length > 1);
    if (result.state === 'pending') {
      Object.assign(head, { attempts: attempt, nextAttemptAt: result.nextAttemptAt, givesWay: result.givesWay });
    } else {
      this.remove(head);
    }
    return result.state !== 'missing';
  }

  private remove({ id }: PendingWebhook): void {
    this.queue = this.queue.filter((event) => event.id !== id);
  }

  private mustGiveWay(): boolean {
    return this.queue.length > 1 && this.queue[0]?.givesWay === true;
  }
}

function send({ id, sequence }: PendingWebhook, attempt: number, othersWait: boolean) {
  const { sendWebhook } = proxyActivities<Activities>({
    taskQueue: WEBHOOK_TASK_QUEUE,
    // Above the deadline of an attempt; a retry here only covers a lost worker or database.
    startToCloseTimeout: '40 seconds',
    retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '30 seconds' },
    summary: `webhook ${sequence}: attempt ${attempt}`,
  });
  return sendWebhook({ eventId: id, attempt, othersWait });
}

function exhaust({ id, sequence }: PendingWebhook): Promise<void> {
  const { exhaustWebhook } = proxyActivities<Activities>({
    startToCloseTimeout: '10 seconds',
    retry: { initialInterval: '500 milliseconds', maximumInterval: '30 seconds' },
    summary: `webhook ${sequence}: gives way to the next`,
  });
  return exhaustWebhook(id);
}
