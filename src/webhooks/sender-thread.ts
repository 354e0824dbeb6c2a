import { parentPort, workerData } from 'node:worker_threads';
import type { ThreadRequest, ThreadResponse } from './isolated-sender';
import { type SenderOptions, createWebhookSender } from './send';

/** The code of the thread in which webhooks are sent: see isolated-sender.ts. An error in it ends the thread. */
const sender = createWebhookSender(workerData as SenderOptions);

parentPort?.on('message', ({ id, request }: ThreadRequest) => {
  void sender.send(request).then((attempt) => parentPort?.postMessage({ id, attempt } satisfies ThreadResponse));
});
