import { parentPort } from 'node:worker_threads';
import type { ThreadRequest } from '../../../src/webhooks/isolated-sender';
import '../../../src/webhooks/sender-thread';

/** The sender's thread, with faults that the URL of a webhook requests. */
parentPort?.on('message', ({ request }: ThreadRequest) => {
  const { search } = new URL(request.url);
  if (search === '?die') throw new Error('a bug');
  if (search === '?stick') for (;;);
  if (search === '?fill') for (const kept: number[][] = []; ;) kept.push(new Array<number>(100_000).fill(kept.length));
});
