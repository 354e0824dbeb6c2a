import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { type Attempt, INTERRUPTED, emptyAttempt } from './attempt';
import { closableSender } from './closable-sender';
import type { SenderOptions, WebhookRequest, WebhookSender } from './send';

export interface ThreadRequest {
  id: number;
  request: WebhookRequest;
}

export interface ThreadResponse {
  id: number;
  attempt: Attempt;
}

interface Thread {
  worker: Worker;
  /** Resolves each running attempt, by its id. */
  running: Map<number, (attempt: Attempt) => void>;
}

/** Threads need compiled code. Tests run the sources. */
const THREAD = path.join(__dirname, __filename.endsWith('.ts') ? '../../dist/src/webhooks' : '', 'sender-thread.js');

export interface IsolatedSenderOptions extends Omit<SenderOptions, 'lookup'> {
  timeoutMs: number;
  /** Concurrent attempts, for which the thread gets memory. */
  concurrency: number;
  /** Receives the error that has ended the thread. */
  onError: (error: unknown) => void;
  /** The thread's code. */
  filename?: string;
  /** Milliseconds after an attempt's timeout until the thread counts as stuck. Default: 5000. */
  stuckAfterMs?: number;
}

/**
 * Sends webhooks in a thread of its own: whatever receivers send, they share neither event loop nor heap with the
 * saves. If the thread dies or is stuck, its attempts fail with `interrupted`, and the next attempt starts a new
 * thread.
 */
export function createIsolatedSender({
  concurrency,
  onError,
  filename = THREAD,
  stuckAfterMs = 5000,
  ...options
}: IsolatedSenderOptions): WebhookSender {
  let thread: Thread | undefined;
  let lastId = 0;

  function start(): Thread {
    const worker = new Worker(filename, {
      workerData: options,
      // An attempt takes less than 0.25 MB of heap. The buffers of its socket are outside of the heap.
      resourceLimits: { maxOldGenerationSizeMb: 64 + Math.ceil(concurrency / 4) },
    });
    const started: Thread = { worker, running: new Map() };
    worker.on('message', ({ id, attempt }: ThreadResponse) => started.running.get(id)?.(attempt));
    worker.on('error', (error) => {
      replace(started);
      onError(error);
    });
    worker.on('exit', () => {
      replace(started);
      for (const finish of started.running.values()) finish({ ...emptyAttempt(), ...INTERRUPTED });
    });
    return started;
  }

  /** Makes the next attempt start a new thread. */
  function replace(ended: Thread): void {
    if (thread === ended) thread = undefined;
  }

  function endStuck(stuck: Thread): void {
    replace(stuck);
    onError(new Error(`the thread that sends webhooks did not respond within ${options.timeoutMs + stuckAfterMs} ms`));
    void stuck.worker.terminate();
  }

  async function attempt(request: WebhookRequest): Promise<Attempt> {
    const id = ++lastId;
    const current = (thread ??= start());
    const { worker, running } = current;
    // The second timer lets a process that was frozen first read the results that have arrived.
    let timer = setTimeout(() => {
      timer = setTimeout(() => endStuck(current), stuckAfterMs);
    }, options.timeoutMs);
    try {
      return await new Promise<Attempt>((resolve) => {
        running.set(id, resolve);
        worker.postMessage({ id, request } satisfies ThreadRequest);
      });
    } finally {
      clearTimeout(timer);
      running.delete(id);
    }
  }

  const sender = closableSender(attempt);
  return {
    send: sender.send,
    async close() {
      await sender.close();
      await thread?.worker.terminate();
    },
  };
}
