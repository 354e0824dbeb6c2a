import type { ServerResponse } from 'node:http';
import type { Attempt } from '../../../src/webhooks/attempt';
import { createWebhookSender, type SenderOptions, type WebhookSender } from '../../../src/webhooks/send';
import { startReceiver, stopReceivers, type Receiver } from './receivers';

/** The deadline of an attempt, unless a test sets its own. */
export const timeoutMs = 300;
/** For a loaded machine; far from what any of the receivers would take on its own. */
export const slackMs = 1000;

let senders: WebhookSender[] = [];

/** A sender that may go anywhere. */
export function sender(options: Partial<SenderOptions> = {}): WebhookSender {
  const made = createWebhookSender({ policy: { allowPrivate: true, allowHttp: true }, timeoutMs, ...options });
  senders.push(made);
  return made;
}

/** Ends every sender and receiver that a test has started. */
export async function stopAll(): Promise<void> {
  await Promise.all(senders.map(({ close }) => close()));
  senders = [];
  await stopReceivers();
}

export const webhook = (url: string) => ({
  url,
  id: 'evt_1',
  timestamp: 1_750_000_000,
  signature: 'v1,c2lnbmF0dXJl',
  body: '{"type":"order.status_changed"}',
});

/** One attempt at a receiver of its own. */
export async function sendTo(
  answer: (response: ServerResponse) => void,
  options: Partial<SenderOptions> = {},
): Promise<{ receiver: Receiver; attempt: Attempt }> {
  const receiver = await startReceiver((_request, response) => answer(response));
  const attempt = await sender(options).send(webhook(`http://127.0.0.1:${receiver.port}/hook`));
  return { receiver, attempt };
}
