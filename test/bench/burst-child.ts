import { randomUUID } from 'node:crypto';
import { serveParent } from '../attack/child';
import { BASE } from '../support/api';
import { httpClient } from './arms/http';
import { closedLoop } from './load';

interface Burst {
  port: number;
  seller: { id: string; key: string };
  count: number;
  clients: number;
}

export interface BurstResult {
  accepted: number;
  unavailable: number;
  seconds: number;
}

/** The shop's own address, so that it takes turns with others as shops on different servers do. */
const BURST_ADDRESS = '127.0.0.2';

/** Creates orders as fast as the API accepts them, in a process of its own. */
serveParent(async ({ port, seller, count, clients }: Burst): Promise<BurstResult> => {
  const http = httpClient(port, BURST_ADDRESS);
  const result = { accepted: 0, unavailable: 0, seconds: 0 };
  const begun = performance.now();
  await closedLoop(clients, count, async () => {
    const { status } = await http.call('POST', `${BASE}/seller/${seller.id}/order/`, {
      headers: { authorization: `Bearer ${seller.key}` },
      body: { data: { amount: 1234.5, reference: randomUUID() } },
    });
    if (status === 201) result.accepted += 1;
    else result.unavailable += 1;
  });
  result.seconds = (performance.now() - begun) / 1000;
  return result;
});
