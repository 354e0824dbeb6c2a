import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type Attempt, createWebhookSender, type SenderOptions, type WebhookSender } from '../../src/webhooks/send';
import { type RecordingServer, startRecordingServer } from './recording-server';
import { until } from './until';

/** Default deadline of an attempt, which no attempt reaches on a loaded machine either. */
export const LONG_TIMEOUT_MS = 300_000;
/** Deadline of an attempt that reaches it, whether or not it has connected. */
export const SHORT_TIMEOUT_MS = 300;
/** Deadline of an attempt that reaches it after it has connected, also on a loaded machine. */
export const CONNECTED_TIMEOUT_MS = 3000;

/** A sender without address restrictions. */
export function sender(options: Partial<SenderOptions> = {}): WebhookSender {
  const policy = { allowPrivate: true, allowHttp: true };
  return createWebhookSender({ policy, timeoutMs: LONG_TIMEOUT_MS, ...options });
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
  respond: (response: ServerResponse) => void,
  options: Partial<SenderOptions> = {},
): Promise<{ receiver: RecordingServer; attempt: Attempt }> {
  const receiver = await startRecordingServer((_request, response) => respond(response));
  const attempt = await sender(options).send(webhook(`http://127.0.0.1:${receiver.port}/hook`));
  return { receiver, attempt };
}

/** Waits until the sender has closed a connection of the receiver. */
export async function expectClosed(socket: Socket | undefined): Promise<void> {
  await until(() => socket?.destroyed, 'the sender has closed the connection');
}
