import { z } from 'zod';
import { ORDER_EVENTS } from '../domain/status';
import { anyOf, actor, channel, orderStatus, paymentTerm, text, timestamp, whole } from './order-schemas';
import { attemptFields, nextAttempt, sequence, webhookId, webhookState } from './webhook-response-schemas';

const reason = text('Human-readable reason, if given').nullable();
const EVENTS = `${anyOf(['created', ...ORDER_EVENTS])}. New events may be added.`;
const event = text(`The event that was requested: ${EVENTS}`, 'signup_started');

const timelineWebhook = z
  .object({ id: webhookId, sequence, state: webhookState, next_attempt_at: nextAttempt })
  .meta({ id: 'TimelineWebhook', description: 'The webhook for a change' });

const changeEntrySchema = z
  .object({
    type: z.literal('change'),
    at: timestamp,
    event: text(`The event that caused the change: ${EVENTS}`, 'signup_started'),
    from: orderStatus.nullable().meta({ description: 'Status before the change; null for the creation of the order' }),
    to: orderStatus,
    actor,
    channel,
    reason,
    payment_term: paymentTerm.nullable().meta({
      description: 'How the customer pays, if it was reported with the event',
    }),
    version: whole('Number of the change, from 1'),
    webhook: timelineWebhook.nullable().meta({ description: 'The webhook for the change; null if there is none' }),
  })
  .meta({ id: 'TimelineChange', description: 'A change' });

const refusalEntrySchema = z
  .object({
    type: z.literal('refusal'),
    at: timestamp,
    event,
    order_status: orderStatus,
    actor,
    channel,
    reason,
  })
  .meta({ id: 'TimelineRefusal', description: 'A refused signal to the workflow' });

const attemptEntrySchema = z
  .object({
    type: z.literal('webhook_attempt'),
    at: timestamp,
    webhook_id: webhookId,
    sequence,
    attempt: whole('Number of the attempt, from 1, including resends'),
    resend: z.boolean().meta({
      description: 'True for a requested resend, which is not part of the retry schedule',
    }),
    ...attemptFields,
    next_attempt_at: nextAttempt,
  })
  .meta({ id: 'TimelineWebhookAttempt', description: 'An attempt to deliver a webhook' });

export const timelineEntrySchema = z
  .discriminatedUnion('type', [changeEntrySchema, refusalEntrySchema, attemptEntrySchema])
  .meta({
    id: 'TimelineEntry',
    description: 'A change, a refused signal or an attempt to deliver a webhook. These three types are fixed.',
  });
export type TimelineEntryBody = z.infer<typeof timelineEntrySchema>;
