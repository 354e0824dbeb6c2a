import { proxyActivities, proxyLocalActivities } from '@temporalio/workflow';
import type { Activities, QueuedWebhook, RequestedResend, WebhookRef, WebhookResult } from '../activities';
import { toCodeSpan } from '../src/domain/markdown';
import { formatTime } from './format-time';
import { LOOPS, type LoopScheduler } from './loop-scheduler';

/** A pending webhook, with its times by the workflow's clock, in Unix milliseconds; null: it is due. */
interface Pending extends WebhookRef, Schedule {
  lastError?: string;
}

interface Schedule {
  attempts: number;
  dueAt: number | null;
  dueWithSuccessorAt: number | null;
  yieldsToNext: boolean;
}

/**
 * What operators search for. `retrying`: at least two attempts failed, because one failure is usually over in seconds.
 * `waiting`: the endpoint does not answer, or its seller has too many attempts running. `exhausted`: this run gave up a
 * webhook, and it is not resent yet.
 */
type WebhookTrouble = 'retrying' | 'waiting' | 'exhausted';

/** The webhooks of one order that are still to be sent, one at a time and in the order of their sequence. */
export class DeliveryQueue {
  private pending: Pending[] = [];
  /** Sent before everything else, urgent ones first: a resend ignores the sequence. */
  private resends: RequestedResend[] = [];
  private resending: RequestedResend | undefined;
  /** True if an urgent resend has been requested since the last attempt began. */
  private isUrgentRequested = false;
  /** All webhooks of an order have one endpoint: if one of them waits for it, all do. */
  private wait: { until: number; reason: string } | undefined;
  /** True from a wait until the result of an attempt. */
  private isHeldUp = false;
  /** The sequences of the webhooks that were given up, and why. */
  private readonly exhausted = new Map<number, string | undefined>();
  /** The sequence of the webhook that the receiver answered with 410. */
  private disabledBy: number | undefined;

  constructor(private readonly scheduler: LoopScheduler) {}

  /** Adds pending webhooks as Postgres returned them. A webhook that is queued already keeps its progress. */
  add(pending: readonly QueuedWebhook[]): void {
    const added = pending.filter(({ id }) => !this.pending.some((queued) => queued.id === id));
    this.pending = [...this.pending, ...added.map((event) => ({ ...event, ...toSchedule(event) }))].sort(
      (a, b) => a.sequence - b.sequence,
    );
  }

  /**
   * Adds requested resends. The activity skips a webhook that has been resent in the meantime. An urgent one ends
   * a wait for the endpoint, also one that begins with the attempt in progress: the activity decides whether it is
   * made.
   */
  addResends(requested: readonly RequestedResend[]): void {
    if (requested.some(({ isUrgent }) => isUrgent)) {
      this.wait = undefined;
      this.isUrgentRequested = true;
    }
    const others = this.resends.filter(({ id }) => !requested.some((added) => added.id === id));
    this.queueResends([...others, ...requested]);
  }

  private queueResends(resends: readonly RequestedResend[]): void {
    this.resends = [...resends].sort((a, b) => Number(b.isUrgent) - Number(a.isUrgent));
  }

  get isEmpty(): boolean {
    return this.pending.length === 0 && this.resends.length === 0;
  }

  get trouble(): WebhookTrouble | undefined {
    if (this.isHeldUp) return 'waiting';
    if ((this.pending[0]?.attempts ?? 0) > 1) return 'retrying';
    return this.exhausted.size > 0 ? 'exhausted' : undefined;
  }

  /** Describes to operators which webhook is sent next, and when, why the last attempt failed, and what it delays. */
  describe(): string | undefined {
    const givenUp = [...this.exhausted].map(([sequence, error]) => `webhook ${sequence} was given up${because(error)}`);
    const behind = this.pending.slice(1).map(({ sequence }) => sequence);
    const waits = behind.length === 1 ? 'waits' : 'wait';
    const delayed = behind.length > 0 ? `webhook ${behind.join(', ')} ${waits} behind it` : undefined;
    const disabled =
      this.disabledBy === undefined
        ? undefined
        : `webhook ${this.disabledBy} got HTTP 410: webhooks of this order are disabled`;
    const parts = [this.describeNext(), delayed, ...givenUp, disabled].filter((part) => part !== undefined);
    return parts.length > 0 ? parts.join('; ') : undefined;
  }

  private describeNext(): string | undefined {
    if (this.wait) return this.describeWait(this.wait);
    const resend = this.resending ?? this.resends[0];
    if (resend) return `webhook ${resend.sequence} is being resent`;
    const head = this.pending[0];
    if (!head) return undefined;
    const dueAt = this.dueAt(head);
    return dueAt === null
      ? `webhook ${head.sequence} is being sent`
      : `webhook ${head.sequence}: attempt ${head.attempts + 1} at ${formatTime(dueAt)}${because(head.lastError)}`;
  }

  /**
   * Takes one step: waits for the endpoint, makes an attempt of a requested resend, or waits until the first pending
   * webhook is due and then makes its attempt, or gives it up without one if it yields. Returns early if `mustStop`
   * becomes true.
   * @returns false if Postgres does not hold the webhook: the row is older than the workflow
   */
  async deliverNext(mustStop: () => boolean): Promise<boolean> {
    if (this.wait) {
      await this.untilWaited(this.wait, mustStop);
      return true;
    }
    // Taken from the queue first: a request that arrives during the attempt is another resend.
    const resending = (this.resending = this.resends.shift());
    if (resending) return this.resend(resending);
    const head = this.pending[0];
    return head ? this.deliverHead(head, mustStop) : true;
  }

  /** @returns false if Postgres does not hold the webhook */
  private async resend(resending: RequestedResend): Promise<boolean> {
    const result = await this.attempt(resending, () => sendAgain(resending));
    if (result.state === 'waiting') this.addAgain(resending);
    this.resending = undefined;
    return result.state !== 'missing';
  }

  /** @returns false if Postgres does not hold the webhook */
  private async deliverHead(head: Pending, mustStop: () => boolean): Promise<boolean> {
    // A webhook with a lower sequence may be added in the meantime.
    if (!(await this.untilDue(head, () => mustStop() || this.resends.length > 0 || this.pending[0] !== head)))
      return true;
    if (this.headYields()) {
      await this.giveUp(head);
      return true;
    }
    const result = await this.attempt(head, () => send(head, head.attempts + 1, this.pending.length > 1));
    return result.state !== 'missing';
  }

  private async giveUp(head: Pending): Promise<void> {
    await this.scheduler.runExclusive(() => exhaust(head));
    await this.scheduler.waitToContinue(LOOPS.deliveries);
    this.exhausted.set(head.sequence, head.lastError);
    this.remove(head);
  }

  private async attempt(webhook: WebhookRef, call: () => Promise<WebhookResult>): Promise<WebhookResult> {
    this.isUrgentRequested = false;
    const result = await this.scheduler.runCommand(LOOPS.deliveries, call);
    this.applyResult(webhook, result);
    return result;
  }

  /** A resend that waits stays requested, unless it was requested again during the call. */
  private addAgain(resend: RequestedResend): void {
    if (!this.resends.some(({ id }) => id === resend.id)) this.queueResends([resend, ...this.resends]);
  }

  private describeWait({ until, reason }: { until: number; reason: string }): string {
    const { sequence } = this.resends[0] ?? this.pending[0] ?? {};
    return `webhook ${sequence} waits: ${toCodeSpan(reason)}, next try ${formatTime(until)}`;
  }

  /** An urgent resend ends the wait. */
  private async untilWaited(wait: { until: number; reason: string }, mustStop: () => boolean): Promise<void> {
    const waitMs = wait.until - Date.now();
    const isInterrupted = () => mustStop() || this.wait !== wait;
    const timer = { ms: waitMs, summary: this.describeWait(wait) };
    if (waitMs > 0) await this.scheduler.waitUntil(LOOPS.deliveries, isInterrupted, timer);
    if (this.wait === wait) this.wait = undefined;
  }

  /**
   * Waits until the head is due or yields. A later event that arrives shortens the wait. Returns false if it is
   * interrupted.
   */
  private async untilDue(head: Pending, isInterrupted: () => boolean): Promise<boolean> {
    const summary = `webhook ${head.sequence}: until attempt ${head.attempts + 1}`;
    for (;;) {
      const dueAt = this.dueAt(head);
      const waitMs = dueAt === null ? 0 : dueAt - Date.now();
      if (waitMs <= 0 || this.headYields()) return true;
      const isChanged = () => isInterrupted() || this.headYields() || this.dueAt(head) !== dueAt;
      await this.scheduler.waitUntil(LOOPS.deliveries, isChanged, { ms: waitMs, summary });
      if (isInterrupted()) return false;
    }
  }

  private dueAt(head: Pending): number | null {
    return this.pending.length > 1 ? head.dueWithSuccessorAt : head.dueAt;
  }

  private applyResult({ id, sequence }: WebhookRef, result: WebhookResult): void {
    this.isHeldUp = result.state === 'waiting';
    if (result.state === 'waiting') {
      if (!this.isUrgentRequested) this.wait = { until: Date.now() + result.waitMs, reason: result.reason };
      return;
    }
    if (result.state === 'exhausted') this.exhausted.set(sequence, result.lastError);
    else this.exhausted.delete(sequence);
    // A webhook that was disabled before may be resent, or skipped, after webhooks are enabled again.
    if (result.state === 'disabled' && result.webhooksDisabled) {
      this.disabledBy ??= sequence;
      // All other pending webhooks are disabled too, and their next calls return that.
      for (const other of this.pending)
        Object.assign(other, { dueAt: null, dueWithSuccessorAt: null, yieldsToNext: false });
    } else if (result.state === 'delivered') this.disabledBy = undefined;
    const event = this.pending.find((queued) => queued.id === id);
    if (!event) return;
    if (result.state === 'pending') Object.assign(event, { lastError: result.lastError }, toSchedule(result));
    else this.remove(event);
  }

  private remove({ id }: WebhookRef): void {
    this.pending = this.pending.filter((event) => event.id !== id);
  }

  private headYields(): boolean {
    return this.pending.length > 1 && this.pending[0]?.yieldsToNext === true;
  }
}

const because = (error: string | undefined): string => (error === undefined ? '' : `, last error ${error}`);

/** The clocks of Postgres and the workers differ, so times arrive as durations. */
function toSchedule({
  attempts,
  waitMs,
  waitWithSuccessorMs,
  yieldsToNext,
}: Pick<QueuedWebhook, 'attempts' | 'waitMs' | 'waitWithSuccessorMs' | 'yieldsToNext'>): Schedule {
  const inMs = (ms: number | null) => (ms === null ? null : Date.now() + ms);
  return { attempts, dueAt: inMs(waitMs), dueWithSuccessorAt: inMs(waitWithSuccessorMs), yieldsToNext };
}

/**
 * Activities that make an attempt. A retry covers a lost worker, a lost or slow database, a busy delivery lease, and a
 * seller whose slots become free within seconds.
 */
const attemptActivities = (summary: string) =>
  proxyActivities<Activities>({
    // Longer than an attempt takes, unless Postgres is slow. The delivery lease keeps attempts apart.
    startToCloseTimeout: '40 seconds',
    retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '30 seconds' },
    summary,
  });

function send({ id, sequence }: WebhookRef, attempt: number, hasSuccessor: boolean): Promise<WebhookResult> {
  return attemptActivities(`webhook ${sequence}: attempt ${attempt}`).sendWebhook({
    eventId: id,
    attempt,
    hasSuccessor,
  });
}

function sendAgain({ id, sequence }: WebhookRef): Promise<WebhookResult> {
  return attemptActivities(`webhook ${sequence}: resent`).resendWebhook(id);
}

function exhaust({ id, sequence }: WebhookRef): Promise<void> {
  const { exhaustWebhook } = proxyLocalActivities<Activities>({
    startToCloseTimeout: '10 seconds',
    localRetryThreshold: '300 milliseconds',
    retry: { initialInterval: '500 milliseconds', maximumInterval: '30 seconds' },
    summary: `webhook ${sequence}: yields to the next`,
  });
  return exhaustWebhook(id);
}
