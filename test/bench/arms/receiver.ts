import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import type { AddressInfo } from 'node:net';
import { until } from '../../support/until';

/** What a webhook endpoint does with a request. */
type Behaviour = 'accept' | 'hang' | 'refuse';

export interface Receiver {
  url: string;
  /** When each webhook arrived first, by order id and sequence, in ms of `performance.now()`. */
  arrivals: Map<string, number>;
  /** After `refuse`, nothing listens any more. */
  behave: (behaviour: Behaviour) => void;
  /** Waits until the first `count` webhooks of every order have arrived. */
  allArrived: (orderIds: readonly string[], count: number, timeoutMs?: number) => Promise<void>;
  stop: () => Promise<void>;
}

export const arrivalKey = (orderId: string, sequence: number): string => `${orderId}/${sequence}`;

/** Starts a webhook endpoint. */
export async function startReceiver(): Promise<Receiver> {
  const arrivals = new Map<string, number>();
  let behaviour: Behaviour = 'accept';
  const server = createServer((request, response) => {
    void text(request).then(
      (body) => {
        const { data } = JSON.parse(body) as { data: { order: { id: string }; sequence: number } };
        const key = arrivalKey(data.order.id, data.sequence);
        if (behaviour === 'hang') return;
        if (!arrivals.has(key)) arrivals.set(key, performance.now());
        response.writeHead(200).end('ok');
      },
      () => undefined,
    );
  });
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/webhooks`,
    arrivals,
    behave(next) {
      behaviour = next;
      if (next === 'refuse') server.close();
      // Requests that hang end with their connections.
      server.closeAllConnections();
    },
    async allArrived(orderIds, count, timeoutMs = 120_000) {
      const isMissing = (id: string): boolean => !arrivals.has(arrivalKey(id, count));
      await until(() => !orderIds.some(isMissing), `all webhooks of ${orderIds.length} orders have arrived`, timeoutMs);
    },
    async stop() {
      server.closeAllConnections();
      if (server.listening) await new Promise((resolve) => server.close(resolve));
    },
  };
}
