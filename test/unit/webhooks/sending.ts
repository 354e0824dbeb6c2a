import type { ServerResponse } from 'node:http';
import type { Attempt } from '../../../src/webhooks/attempt';
import { createWebhookSender, type SenderOptions, type WebhookSender } from '../../../src/webhooks/send';
import { startReceiver, stopReceivers, type Receiver } from './receivers';

/** Default deadline of an attempt. */
export const timeoutMs = 300;
/** Tolerance for a loaded machine, far below the time that any of the receivers takes on its own. */
export const slackMs = 1000;

let senders: WebhookSender[] = [];

/** A sender without address restrictions. */
export function sender(options: Partial<SenderOptions> = {}): WebhookSender {
  const made = createWebhookSender({ policy: { allowPrivate: true, allowHttp: true }, timeoutMs, ...options });
  senders.push(made);
  return made;
}

/** Stops every sender and receiver that a test has started. */
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

/** Makes one attempt at a new receiver. */
export async function sendTo(
  answer: (response: ServerResponse) => void,
  options: Partial<SenderOptions> = {},
): Promise<{ receiver: Receiver; attempt: Attempt }> {
  const receiver = await startReceiver((_request, response) => answer(response));
  const attempt = await sender(options).send(webhook(`http://127.0.0.1:${receiver.port}/hook`));
  return { receiver, attempt };
}
