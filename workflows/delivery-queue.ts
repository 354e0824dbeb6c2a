import { condition, proxyActivities } from '@temporalio/workflow';
import type { Activities, QueuedWebhook, Resend, WebhookResult } from '../activities';
import { WEBHOOK_TASK_QUEUE } from './messages';

/** The webhooks of one order that are still to be sent, one at a time and in the order of their sequence. */
export class DeliveryQueue {
  private pending: QueuedWebhook[] = [];
  /** Sent before everything else: a resend ignores the order. */
  private resends: Resend[] = [];

  /** Adds pending webhooks as Postgres returned them. A webhook that is queued already keeps its progress. */
  add(pending: readonly QueuedWebhook[]): void {
    const added = pending.filter(({ id }) => !this.pending.some((queued) => queued.id === id));
    this.pending = [...this.pending, ...added.map((event) => ({ ...event }))].sort((a, b) => a.sequence - b.sequence);
  }

  /** Adds requested resends. The activity skips a webhook that has been resent in the meantime. */
  addResends(requested: readonly Resend[]): void {
    this.resends.push(...requested.filter(({ id }) => !this.resends.some((queued) => queued.id === id)));
  }

  get isEmpty(): boolean {
    return this.pending.length === 0 && this.resends.length === 0;
  }

  /** Describes to operators which webhook is sent next, and when. */
  describe(): string | undefined {
    const resend = this.resends[0];
    if (resend) return `webhook ${resend.sequence} is being resent`;
    const head = this.pending[0];
    if (!head) return undefined;
    return head.nextAttemptAt === null
      ? `webhook ${head.sequence} is being sent`
      : `webhook ${head.sequence}: attempt ${head.attempts + 1} at ${head.nextAttemptAt}`;
  }

  /**
   * Makes one attempt: a requested resend immediately, otherwise the first pending webhook when it is due. Returns early if
   * `mustStop` becomes true.
   * @returns false if Postgres does not hold the webhook: the row is older than the workflow
   */
  async step(mustStop: () => boolean): Promise<boolean> {
    const [resend] = this.resends;
    if (resend) {
      this.applyResult(resend, await sendAgain(resend));
      this.resends = this.resends.filter((other) => other !== resend);
      return true;
    }
    const head = this.pending[0];
    if (!head) return true;
    if (head.nextAttemptAt !== null) {
      const waitMs = Date.parse(head.nextAttemptAt) - Date.now();
      const summary = `webhook ${head.sequence}: until attempt ${head.attempts + 1}`;
      // A webhook with a lower sequence may be added in the meantime.
      const isInterrupted = (): boolean => mustStop() || this.resends.length > 0 || this.pending[0] !== head;
      if (waitMs > 0) await condition(() => isInterrupted() || this.headYields(), waitMs, { summary });
      if (isInterrupted()) return true;
    }
    if (this.headYields()) {
      await exhaust(head);
      this.remove(head);
      return true;
    }
    const attempt = head.attempts + 1;
    const result = await send(head, attempt, this.pending.length > 1);
    if (result.state === 'pending') head.attempts = attempt;
    this.applyResult(head, result);
    return result.state !== 'missing';
  }

  private applyResult({ id }: Resend, { state, nextAttemptAt, yieldsToNext }: WebhookResult): void {
    const event = this.pending.find((queued) => queued.id === id);
    if (!event) return;
    if (state === 'pending') Object.assign(event, { nextAttemptAt, yieldsToNext });
    else this.remove(event);
  }

  private remove({ id }: QueuedWebhook): void {
    this.pending = this.pending.filter((event) => event.id !== id);
  }

  private headYields(): boolean {
    return this.pending.length > 1 && this.pending[0]?.yieldsToNext === true;
  }
}

/** Activities that make an attempt. A retry only covers a lost worker, a lost database or a busy delivery lease. */
const attempts = (summary: string) =>
  proxyActivities<Activities>({
    taskQueue: WEBHOOK_TASK_QUEUE,
    // Longer than an attempt can take.
    startToCloseTimeout: '40 seconds',
    retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '30 seconds' },
    summary,
  });

function send({ id, sequence }: QueuedWebhook, attempt: number, hasSuccessor: boolean): Promise<WebhookResult> {
  return attempts(`webhook ${sequence}: attempt ${attempt}`).sendWebhook({ eventId: id, attempt, hasSuccessor });
}

function sendAgain({ id, sequence }: Resend): Promise<WebhookResult> {
  return attempts(`webhook ${sequence}: resent`).resendWebhook(id);
}

function exhaust({ id, sequence }: QueuedWebhook): Promise<void> {
  const { exhaustWebhook } = proxyActivities<Activities>({
    startToCloseTimeout: '10 seconds',
    retry: { initialInterval: '500 milliseconds', maximumInterval: '30 seconds' },
    summary: `webhook ${sequence}: yields to the next`,
  });
  return exhaustWebhook(id);
}
