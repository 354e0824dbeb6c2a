import { setTimeout as delay } from 'node:timers/promises';
import type { Api } from '../support/api';

export interface Load {
  calls: number;
  orders: string[];
  /** One line for each call that got no 2xx, or no response. */
  failed: string[];
  slowestMs: number;
}

const CLIENTS = 4;
/** Between two calls of a client. */
const PAUSE_MS = 50;

/** Creates, reads, completes and cancels orders until `stop`. A failed call is not repeated. */
export function startLoad(api: Api, webhookUrl: string): { stop(): Promise<Load> } {
  const load: Load = { calls: 0, orders: [], failed: [], slowestMs: 0 };
  let stopped = false;

  async function count(what: string, call: Promise<{ status: number; body: any; text: string }>): Promise<any> {
    const start = performance.now();
    const response = await call.catch((error: unknown) => ({ status: 0, body: undefined, text: String(error) }));
    load.calls += 1;
    load.slowestMs = Math.max(load.slowestMs, performance.now() - start);
    if (response.status < 200 || response.status > 299)
      load.failed.push(`${new Date().toISOString()} ${what}: ${response.status} ${response.text}`);
    await delay(PAUSE_MS);
    return response.body;
  }

  async function client(number: number): Promise<void> {
    for (let turn = number; !stopped; turn++) {
      const created = await count('create', api.create({ webhook_url: webhookUrl }));
      const id: string | undefined = created?.data?.id;
      if (id === undefined) continue;
      load.orders.push(id);
      await count('retrieve', api.get(id));
      if (turn % 2 === 0) {
        await count('cancel', api.cancel(id));
        continue;
      }
      for (const event of ['signup_started', 'approved', 'completed']) await count(event, api.progress(id, event));
    }
  }

  const clients = Array.from({ length: CLIENTS }, (_, number) => client(number));
  return {
    async stop() {
      stopped = true;
      await Promise.all(clients);
      return load;
    },
  };
}
