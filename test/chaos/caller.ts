import { setTimeout as delay } from 'node:timers/promises';
import { type Dispatcher, request } from 'undici';
import { BASE } from '../support/api';
import { createAgent } from './browser';
import type { Ledger } from './ledger';

const RETRY_MS = 250;
/** The caller repeats a call with one of these: 0 is a broken or refused connection, or a timeout; 502 and 504 are a proxy's. */
const REPEATABLE = [0, 408, 502, 503, 504];
/** A call without an answer for this long counts as stuck. */
export const STUCK_AFTER_MS = 60_000;

export interface Reply {
  status: number;
  body: any;
  etag: string | undefined;
  startedAt: number;
  endedAt: number;
}

export interface Request {
  method: Dispatcher.HttpMethod;
  path: string;
  key: string;
  body?: unknown;
  headers?: Record<string, string>;
}

export interface Caller {
  /**
   * Repeats a call at either API process, like a shop behind a load balancer, until it gets one of the `expected`
   * statuses. Any other answer is a complaint. Undefined after a complaint.
   */
  call: (request: Request, expected: readonly number[]) => Promise<Reply | undefined>;
  /** Ends the repeats of calls that are stuck at this moment, in ms of `performance.now()`. */
  giveUpAt: (deadline: number) => void;
  close: () => Promise<void>;
}

export function createCaller(apiUrls: readonly string[], ledger: Ledger): Caller {
  const dispatcher = createAgent();
  let next = 0;
  let deadline = Infinity;

  async function once({ method, path, key, body, headers }: Request): Promise<Reply> {
    const startedAt = performance.now();
    const url = `${apiUrls[next++ % apiUrls.length]}${BASE}${path}`;
    const done = (status: number, text = '', etag?: string | string[]): Reply => ({
      status,
      body: text.startsWith('{') ? JSON.parse(text) : undefined,
      etag: etag?.toString(),
      startedAt,
      endedAt: performance.now(),
    });
    try {
      const response = await request(url, {
        dispatcher,
        method,
        headers: {
          authorization: `Bearer ${key}`,
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      return done(response.statusCode, await response.body.text(), response.headers.etag);
    } catch {
      return done(0);
    }
  }

  return {
    async call(wanted, expected) {
      let calledAt: number | undefined;
      const kind = wanted.method === 'GET' ? 'read' : wanted.path.endsWith('/order/') ? 'create' : 'change';
      for (;;) {
        const reply = await once(wanted);
        const { status, startedAt, endedAt } = reply;
        const isSuccess = expected.includes(status);
        calledAt ??= startedAt;
        ledger.tries.push({ kind, calledAt, startedAt, endedAt, status, isSuccess });
        if (isSuccess) {
          ledger.successes.push(endedAt);
          // An earlier try may have done it: what it changed may show from then on.
          return { ...reply, startedAt: calledAt };
        }
        const name = `${wanted.method} ${wanted.path}`;
        if (!REPEATABLE.includes(status)) {
          ledger.complaints.push(`${name} was answered ${status} ${JSON.stringify(reply.body)}`);
          return undefined;
        }
        if (performance.now() > Math.max(deadline, calledAt + STUCK_AFTER_MS)) {
          ledger.complaints.push(`${name} never succeeded; the last answer was ${status}`);
          return undefined;
        }
        await delay(RETRY_MS);
      }
    },
    giveUpAt: (moment) => (deadline = moment),
    close: () => dispatcher.destroy(),
  };
}
