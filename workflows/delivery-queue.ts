import { condition, proxyActivities } from '@temporalio/workflow';
import type { Activities, PendingWebhook, Resend, WebhookResult } from '../activities';
import { WEBHOOK_TASK_QUEUE } from './messages';

/** The delivery lane of one order: its webhooks one at a time, in the order of their sequence. */
export class DeliveryQueue {
  private queue: PendingWebhook[] = [];
  /** What is sent once more, before anything else: it is exempt from the order. */
  private resends: Resend[] = [];

  /**
   * Takes up the order's unsettled webhooks as a save found them. What it knows stays as it is; what it does not may
   * also be older than what it has (a restored backup's).
   */
  add(pending: readonly PendingWebhook[]): void {
    const unknown = pending.filter(({ id }) => !this.queue.some((known) => known.id === id));
    this.queue = [...this.queue, ...unknown.map((event) => ({ ...event }))].sort((a, b) => a.sequence - b.sequence);
  }

  /** @param asked as Postgres holds it; what was sent meanwhile is found out when its turn comes */
  resend(asked: readonly Resend[] = []): void {
    this.resends.push(...asked.filter(({ id }) => !this.resends.some((known) => known.id === id)));
  }

  get isEmpty(): boolean {
    return this.queue.length === 0 && this.resends.length === 0;
  }

  /** For people: what is on its way, and for which time. */
  describe(): string | undefined {
    const resend = this.resends[0];
    if (resend) return `webhook ${resend.sequence} is being resent`;
    const head = this.queue[0];
    if (!head) return undefined;
    return head.nextAttemptAt === null
      ? `webhook ${head.sequence} is being sent`
      : `webhook ${head.sequence}: attempt ${head.attempts + 1} at ${head.nextAttemptAt}`;
  }

  /**
   * Makes one attempt: what is to be resent at once, the head at its time. Returns early when `interrupted` turns true.
   * @returns false where Postgres does not know the head: the row is older than the workflow
   */
  async step(interrupted: () => boolean): Promise<boolean> {
    const [resend] = this.resends;
    if (resend) {
      this.settle(resend, await sendAgain(resend));
      this.resends = this.resends.filter((other) => other !== resend);
      return true;
    }
    const head = this.queue[0];
    if (!head) return true;
    if (head.nextAttemptAt !== null) {
      const waitMs = Date.parse(head.nextAttemptAt) - Date.now();
      const summary = `webhook ${head.sequence}: until attempt ${head.attempts + 1}`;
      // Something older may come in front of it meanwhile.
      const overtaken = (): boolean => interrupted() || this.resends.length > 0 || this.queue[0] !== head;
      if (waitMs > 0) await condition(() => overtaken() || this.mustGiveWay(), waitMs, { summary });
      if (overtaken()) return true;
    }
    if (this.mustGiveWay()) {
      await exhaust(head);
      this.remove(head);
      return true;
    }
    const attempt = head.attempts + 1;
    const result = await send(head, attempt, this.queue.length > 1);
    if (result.state === 'pending') Object.assign(head, { attempts: attempt });
    this.settle(head, result);
    return result.state !== 'missing';
  }

  private settle({ id }: Resend, { state, nextAttemptAt, givesWay }: WebhookResult): void {
    const event = this.queue.find((queued) => queued.id === id);
    if (!event) return;
    if (state === 'pending') Object.assign(event, { nextAttemptAt, givesWay });
    else this.remove(event);
  }

  private remove({ id }: PendingWebhook): void {
    this.queue = this.queue.filter((event) => event.id !== id);
  }

  private mustGiveWay(): boolean {
    return this.queue.length > 1 && this.queue[0]?.givesWay === true;
  }
}

/** Activities that make an attempt; a retry here only covers a lost worker or database. */
const overTheWire = (summary: string) =>
  proxyActivities<Activities>({
    taskQueue: WEBHOOK_TASK_QUEUE,
    // Above the deadline of an attempt.
    startToCloseTimeout: '40 seconds',
    retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '30 seconds' },
    summary,
  });

function send({ id, sequence }: PendingWebhook, attempt: number, hasSuccessor: boolean): Promise<WebhookResult> {
  return overTheWire(`webhook ${sequence}: attempt ${attempt}`).sendWebhook({ eventId: id, attempt, hasSuccessor });
}

function sendAgain({ id, sequence }: Resend): Promise<WebhookResult> {
  return overTheWire(`webhook ${sequence}: resent`).resendWebhook(id);
}

function exhaust({ id, sequence }: PendingWebhook): Promise<void> {
  const { exhaustWebhook } = proxyActivities<Activities>({
    startToCloseTimeout: '10 seconds',
    retry: { initialInterval: '500 milliseconds', maximumInterval: '30 seconds' },
    summary: `webhook ${sequence}: gives way to the next`,
  });
  return exhaustWebhook(id);
}
