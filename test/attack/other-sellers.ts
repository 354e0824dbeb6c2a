import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { BASE } from '../support/api';
import { OTHERS_ADDRESS } from './addresses';
import { serveParent } from './child';
import type { Target } from './target';

const TICK_MS = 200;
/** An order is cancelled this number of ticks after its creation. */
const CANCEL_AFTER_TICKS = 10;
const TIMEOUT_MS = 20_000;

export interface Call {
  kind: 'create' | 'read' | 'cancel';
  /** From the planned start, so that a delayed start counts. */
  ms: number;
  /** 0 if the connection failed. */
  status: number;
  /** The code of the failure. */
  error?: string | undefined;
}

/** Other sellers create, read and cancel five orders per second, whatever the response times are. */
serveParent(async ({ target, seconds }: { target: Target; seconds: number }): Promise<Call[]> => {
  const dispatcher = new Agent({ connect: { localAddress: OTHERS_ADDRESS }, headersTimeout: TIMEOUT_MS });
  const orders = new Map<number, string>();
  const calls: Call[] = [];
  const running = new Set<Promise<void>>();

  async function call(kind: Call['kind'], tick: number, orderId = ''): Promise<void> {
    const start = performance.now();
    const seller = target.others[tick % target.others.length]!;
    const key = seller.keys[Math.floor(tick / target.others.length) % seller.keys.length]!;
    const body = JSON.stringify({ data: { amount: 12.5, reference: randomUUID() } });
    const path = kind === 'create' ? `/seller/${seller.id}/order/` : `/order/${orderId}/`;
    let status = 0;
    let error: string | undefined;
    try {
      const response = await request(`http://127.0.0.1:${target.port}${BASE}${path}`, {
        dispatcher,
        method: { create: 'POST', read: 'GET', cancel: 'DELETE' }[kind] as 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        ...(kind === 'create' && { body }),
      });
      const text = await response.body.text();
      status = response.statusCode;
      if (status === 201) orders.set(tick, JSON.parse(text).data.id);
    } catch (failure) {
      const { code, message } = failure as NodeJS.ErrnoException;
      error = code ?? message;
    }
    calls.push({ kind, ms: performance.now() - start, status, error });
  }

  function begin(kind: Call['kind'], tick: number, orderId?: string): void {
    const calling = call(kind, tick, orderId);
    running.add(calling);
    void calling.then(() => running.delete(calling));
  }

  const start = performance.now();
  for (let tick = 0; tick * TICK_MS < seconds * 1000; tick++) {
    await delay(Math.max(start + tick * TICK_MS - performance.now(), 0));
    begin('create', tick);
    const read = orders.get(tick - 1);
    if (read !== undefined) begin('read', tick - 1, read);
    const cancelled = orders.get(tick - CANCEL_AFTER_TICKS);
    if (cancelled !== undefined) begin('cancel', tick - CANCEL_AFTER_TICKS, cancelled);
  }
  await Promise.all(running);
  return calls;
});
