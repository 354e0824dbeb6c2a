import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { BASE } from '../support/api';
import { OTHERS_ADDRESS } from './addresses';
import type { Attacker } from './attacker';
import { floodReceivers } from './flood-receivers';
import { sendPadded } from './send-padded';
import type { Caller } from './target';

type Attack = (attacker: Attacker) => Promise<void>;

const MIB = 1024 * 1024;
const ORDERS = (sellerId: string): string => `${BASE}/seller/${sellerId}/order/`;

/** In base64. */
export type Bombs = Record<'brotli' | 'gzip', string>;

export function makeBombs(): Bombs {
  const params = { [constants.BROTLI_PARAM_LGWIN]: 24, [constants.BROTLI_PARAM_QUALITY]: 2 };
  return {
    brotli: brotliCompressSync(Buffer.alloc(100 * MIB, 'a'), { params }).toString('base64'),
    gzip: gzipSync(Buffer.alloc(50 * MIB, 'a'), { level: 9 }).toString('base64'),
  };
}

/** Attacks that took earlier versions down or slowed others. Each ends after its number of calls or at its deadline. */
export const ATTACKS: Record<string, Attack> = {
  /** About 100 bytes that expand to 100 MB, to the pay page without a key, and 50 MB in gzip to the API. */
  async 'compressed bombs'(attacker) {
    const brotli = Buffer.from(attacker.bombs.brotli, 'base64');
    const gzip = Buffer.from(attacker.bombs.gzip, 'base64');
    const form = { 'Content-Type': 'application/x-www-form-urlencoded', 'Content-Encoding': 'br' };
    await Promise.all([
      attacker.repeat(400, 100, () =>
        attacker.call(`/pay/${randomUUID()}/choice/`, { method: 'POST', headers: form, body: brotli }),
      ),
      attacker.repeat(100, 25, () =>
        attacker.callAs(attacker.seller, ORDERS(attacker.seller.id), {
          method: 'POST',
          headers: { 'Content-Encoding': 'gzip' },
          body: gzip,
        }),
      ),
    ]);
  },

  /** Lists of 100 orders with 16 KiB of meta_data, ten requests on each connection, which never reads. */
  async 'unread answers'(attacker) {
    const readers = readersOf(attacker);
    for (let index = 0; index < attacker.scaled(95) && !attacker.isOver(); index++) {
      const { id, keys } = readers[index % readers.length]!;
      const head = `GET ${ORDERS(id)}?limit=100 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${keys[0]!}\r\n\r\n`;
      attacker.open().write(head.repeat(10));
      attacker.count('lists unread', 10);
      await delay(50);
    }
    await attacker.untilDeadline();
    attacker.count('connections left open', attacker.openConnections());
  },

  /** Webhooks to receivers that never end their response: 103s, a status line, a chunk extension, chunks of one byte. */
  async 'flooding receivers'(attacker) {
    const { id } = attacker.seller;
    const receivers = await floodReceivers();
    await attacker.repeat(90, 10, async (index) => {
      const webhookUrl = receivers.urls[index % receivers.urls.length];
      const data = { amount: 1, reference: randomUUID(), webhook_url: webhookUrl, redirect_url: 'http://127.0.0.1/' };
      const text = await attacker.callAs(attacker.seller, ORDERS(id), {
        method: 'POST',
        body: JSON.stringify({ data }),
      });
      const orderId = /"id":"([^"]+)"/.exec(text)?.[1];
      if (orderId) await attacker.callAs(attacker.seller, `${BASE}/order/${orderId}/`, { method: 'DELETE' });
    });
    await attacker.untilDeadline();
    attacker.count('attempts', receivers.connections());
    attacker.count('MB sent by receivers', Math.round(receivers.bytesSent() / 1e6));
    await receivers.close();
  },

  /** Bodies of 64 KB in which everything is invalid. */
  async 'bodies with errors'(attacker) {
    const { seller } = attacker;
    const terms = JSON.stringify({ data: { allowed_payment_terms: Array<number>(31_000).fill(1) } });
    const fields = Object.fromEntries(Array.from({ length: 7000 }, (_, index) => [`x${index}`, 1]));
    const bodies = [terms, JSON.stringify({ data: fields }).slice(0, -2) + '}}'];
    let largest = 0;
    await attacker.repeat(1000, 10, async (index) => {
      const text = await attacker.callAs(seller, ORDERS(seller.id), { method: 'POST', body: bodies[index % 2]! });
      largest = Math.max(largest, text.length);
    });
    attacker.count('KB in the largest answer', Math.round(largest / 1000));
  },

  /** Connections without a request from one address, up to the limit of the process. */
  'silent connections': (attacker) => holdConnections(attacker, () => attacker.address),

  /** The same number from 20 addresses. */
  'silent connections, 20 addresses': (attacker) => holdConnections(attacker, (index) => `127.0.7.${1 + (index % 20)}`),

  /** Requests whose body never arrives, from 20 addresses. */
  'slow bodies': (attacker) => {
    const { id, keys } = attacker.seller;
    const head = `POST ${ORDERS(id)} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${keys[0]!}\r\n`;
    const request = `${head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{`;
    return holdConnections(attacker, (index) => `127.0.8.${1 + (index % 20)}`, request);
  },

  /** Thousands of requests at the same time on a connection, without a key and with one. */
  async 'pipelined requests'(attacker) {
    const authorization = `Authorization: Bearer ${attacker.seller.keys[0]!}\r\n`;
    await attacker.repeat(600, 10, async (index) => {
      const request = `GET ${BASE}/order/${randomUUID()}/ HTTP/1.1\r\nHost: x\r\n${index % 2 === 0 ? authorization : ''}\r\n`;
      const socket = attacker.open();
      socket.resume().write(request.repeat(2000));
      attacker.count('requests sent', 2000);
      await Promise.race([new Promise((resolve) => socket.once('close', resolve)), delay(1000)]);
      attacker.count(socket.destroyed ? 'connections closed by the API' : 'connections not closed');
      socket.destroy();
    });
  },

  async 'health checks'(attacker) {
    await attacker.repeat(30_000, 50, () => attacker.call('/health/ready'));
  },

  /** Twenty at the same time on each of 200 connections. */
  async 'pipelined health checks'(attacker) {
    const requests = 'GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(20);
    await attacker.repeat(10_000, 200, async () => {
      const socket = attacker.open();
      socket.resume().write(requests);
      attacker.count('requests sent', 20);
      await Promise.race([new Promise((resolve) => socket.once('close', resolve)), delay(1500)]);
      attacker.count(socket.destroyed ? 'connections closed by the API' : 'connections not closed');
      socket.destroy();
    });
  },

  /** One seller creates orders and cancels them all at the same time. */
  async 'cancels at once'(attacker) {
    const { seller } = attacker;
    const ids: string[] = [];
    await attacker.repeat(400, 10, async () => {
      const data = { amount: 1, reference: randomUUID(), redirect_url: 'http://127.0.0.1/' };
      const text = await attacker.callAs(seller, ORDERS(seller.id), { method: 'POST', body: JSON.stringify({ data }) });
      const id = /"id":"([^"]+)"/.exec(text)?.[1];
      if (id) ids.push(id);
    });
    await attacker.repeat(ids.length, ids.length, (index) =>
      attacker.callAs(seller, `${BASE}/order/${ids[index]!}/`, { method: 'DELETE' }),
    );
  },

  /** Links of no order, to the pay page without a key. */
  async 'unknown pay links'(attacker) {
    await attacker.repeat(10_000, 100, () => attacker.call(`/pay/${randomUUID()}/`));
  },

  /** Sign-in links of the seller's page that nobody has made, opened and used. */
  async 'guessed sign-in links'(attacker) {
    const link = (): string => `/portal/link/${randomBytes(32).toString('base64url')}/`;
    const form = { method: 'POST', headers: { 'Content-Type': 'application/x-www-form-urlencoded' } };
    const browser = { Cookie: `portal=${randomBytes(32).toString('base64url')}` };
    await Promise.all([
      attacker.repeat(5000, 40, () => attacker.call(link())),
      attacker.repeat(5000, 40, () => attacker.call(link(), { ...form, body: 'form_token=x' })),
      attacker.repeat(5000, 20, () => attacker.call('/portal/overview/', { headers: browser })),
    ]);
  },

  async 'webhook tests'(attacker) {
    const receivers = await floodReceivers();
    const body = JSON.stringify({ data: { url: receivers.slowUrl } });
    const path = `${BASE}/seller/${attacker.seller.id}/webhook_test/`;
    await attacker.repeat(400, 400, () => attacker.callAs(attacker.seller, path, { method: 'POST', body }));
    await receivers.close();
  },

  async 'large lists'(attacker) {
    const [seller] = readersOf(attacker) as [Caller];
    await attacker.repeat(1000, 20, () => attacker.callAs(seller, `${ORDERS(seller.id)}?limit=100`));
  },

  /** From the address of the other sellers. */
  async 'wrong keys'(attacker) {
    const path = `${BASE}/order/${randomUUID()}/`;
    const wrong = attacker.from(OTHERS_ADDRESS);
    await Promise.all([
      wrong.repeat(5000, 20, () => wrong.call(path)),
      wrong.repeat(1000, 20, () => wrong.call(path, { headers: { Authorization: `Bearer sk_${randomUUID()}` } })),
    ]);
  },

  /** From 40 addresses, each below its limit. */
  async 'unknown keys at once'(attacker) {
    const path = `${BASE}/order/${randomUUID()}/`;
    const addresses = Array.from({ length: 40 }, (_, index) => attacker.from(`127.0.9.${1 + index}`));
    const guess = (from: Attacker): Promise<string> =>
      from.call(path, { headers: { Authorization: `Bearer sk_${randomUUID()}` } });
    await Promise.all(addresses.map((from) => from.repeat(700, 50, () => guess(from))));
  },

  /** A forged address, 2,000 headers, and the proxy's X-Forwarded-For, which Node would drop. */
  async 'forged addresses'(attacker) {
    await attacker.repeat(1500, 20, async (index) => attacker.count(await sendPadded(attacker, index)));
  },
};

/** @param text sent on each connection */
async function holdConnections(attacker: Attacker, addressOf: (index: number) => string, text = ''): Promise<void> {
  const count = attacker.scaled(attacker.bounds.connections);
  for (let index = 0; index < count; index++) {
    attacker.open(attacker.target.port, addressOf(index)).write(text);
    if (index % 200 === 0) await delay(20);
  }
  await attacker.untilDeadline();
  attacker.count('connections opened', count);
  attacker.count('of them left open', attacker.openConnections());
}

/** The sellers with large orders. */
const readersOf = ({ target }: Attacker): Caller[] => target.attackers.slice(0, 3);

/** Gives each of these sellers 100 orders with 16 KiB of meta_data. */
export async function createLargeOrders(attacker: Attacker): Promise<void> {
  const readers = readersOf(attacker);
  const metaData = { text: 'x'.repeat(16_000) };
  await attacker.repeat(100 * readers.length, 10, (index) => {
    const data = { amount: 1, reference: randomUUID(), redirect_url: 'http://127.0.0.1/', meta_data: metaData };
    const seller = readers[index % readers.length]!;
    return attacker.callAs(seller, ORDERS(seller.id), { method: 'POST', body: JSON.stringify({ data }) });
  });
}
