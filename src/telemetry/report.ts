import type { Logger } from 'pino';
import { workflowId } from '../../workflows/messages';
import type { Order, OrderChange } from '../domain/order';
import { isUuid } from '../domain/text';
import type { WebhookState } from '../domain/webhook';
import type { Attempt } from '../webhooks/send';
import { requestContextFields } from './current-request-context';
import * as metrics from './metrics';

// Each function counts one kind of event, and writes a log line if it is a change, a failure or an action. Lines have
// ids only: no names except those of operators, no URLs or secrets, and no text from outside except an operator's
// reason.

const orderFields = (orderId: string) => ({ order_id: orderId, workflow_id: workflowId(orderId) });

/** @param change of the order that was saved just now */
export function reportChange(
  log: Logger,
  { id: orderId, amountPence, sandbox }: Pick<Order, 'id' | 'amountPence' | 'sandbox'>,
  change: OrderChange,
): void {
  const { event, from, to, actor, channel, version } = change;
  metrics.orderChanges.inc({ event, actor });
  if (to === 'SUCCESSFUL' && from !== to)
    metrics.successfulPounds.inc({ mode: sandbox ? 'sandbox' : 'live' }, amountPence / 100);
  const fields = { event, from, to, actor, channel, version };
  log.info({ ...orderFields(orderId), ...requestContextFields(), ...fields }, 'order changed');
}

export function reportRefusedSignal(
  log: Logger,
  { orderId, from: status, actor, channel }: Pick<OrderChange, 'from' | 'actor' | 'channel'> & { orderId: string },
): void {
  metrics.refusedSignals.inc({ actor });
  log.warn({ ...orderFields(orderId), ...requestContextFields(), status, actor, channel }, 'a signal was refused');
}

/** The parts of a webhook event that its log lines name. */
interface ReportedWebhook {
  id: string;
  orderId: string;
  sellerId: string;
  sequence: number;
  requestId: string | null;
  traceparent: string | null;
}

function webhookFields(webhook: ReportedWebhook) {
  const { id, orderId, sellerId, sequence } = webhook;
  return { webhook_id: id, sequence, seller_id: sellerId, ...orderFields(orderId), ...requestContextFields(webhook) };
}

interface RecordedAttempt extends Pick<Attempt, 'outcome' | 'error' | 'status' | 'durationMs'> {
  /** The attempt's position in the retry schedule, from 1; null for a resend. */
  step: number | null;
  /** Of the webhook, after the attempt. */
  state: WebhookState;
  /** Until the next attempt; null if there is none. */
  delayMs: number | null;
}

/** @param webhook as it was before the attempt */
export function reportAttempt(
  log: Logger,
  webhook: ReportedWebhook & { state: WebhookState },
  { step, outcome, error, status, durationMs, state, delayMs }: RecordedAttempt,
): void {
  metrics.webhookAttempts.inc({ outcome, error: error ?? '' });
  metrics.webhookDuration.observe(durationMs / 1000);
  if (outcome !== 'delivered') {
    const result = { step, resend: step === null, error, status, duration_ms: durationMs };
    log.warn({ ...webhookFields(webhook), ...result, state, next_attempt_in_ms: delayMs }, 'a webhook attempt failed');
  }
  if (state !== 'pending' && state !== webhook.state) reportEnded(log, webhook, state);
}

/** @param state in which its delivery has ended */
export function reportEnded(log: Logger, webhook: ReportedWebhook, state: Exclude<WebhookState, 'pending'>): void {
  metrics.webhooksEnded.inc({ state });
  if (state === 'exhausted')
    log.warn(webhookFields(webhook), 'a webhook is exhausted: it is not retried, but can be resent');
  if (state === 'disabled')
    log.warn(webhookFields(webhook), 'a webhook is disabled: its URL answered 410, or there is none');
}

/** A command of the CLI that changes something. Its options and references may hold names, so only ids are logged. */
export function reportOperatorAction(
  log: Logger,
  action: { id: string; at: Date; operator: string; command: string; arguments: unknown; outcome: string },
): void {
  const { id, at, operator, command, outcome } = action;
  // A long command is reported twice, and counted when it ends.
  if (outcome !== 'started') metrics.operatorActions.inc({ outcome });
  const { arguments: given = [] } = action.arguments as { arguments?: string[] };
  const ids = given.map((argument) => (isUuid(argument) || /^\d+$/.test(argument) ? argument : '…'));
  log.info(
    { request_id: id, operator, command, arguments: ids, outcome, started_at: at.toISOString() },
    'operator action',
  );
}

/** Resolves once the lines are written, or rejects after `timeoutMs`. */
export async function flushLog(log: Logger, timeoutMs: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('the log is not written')), timeoutMs);
    log.flush((error?: NodeJS.ErrnoException) => {
      clearTimeout(timer);
      // A pipe or a terminal has the lines, but cannot be synchronized.
      if (error && !['EINVAL', 'ENOTSUP'].includes(error.code ?? '')) reject(error);
      else resolve();
    });
  });
}
