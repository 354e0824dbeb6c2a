import { setTimeout as delay } from 'node:timers/promises';
import { constants } from '../../support/constants';
import { until } from '../../support/until';
import { type Cell, expectHits, faultMs } from '../cell';
import { RECEIVER_FAULTS, type ReceiverFault } from '../receiver';
import { relaunch } from '../service-part';
import { CHAOS_CONSTANTS, type ChaosStack } from '../stack';

/** How the receiver answers with these faults. With the others, it has not answered when the fault ends. */
const ANSWERS: Partial<Record<ReceiverFault, number>> = { '500': 500, '429': 429, '410': 410, redirect: 302 };
const FAULTS_HIT_WITHIN_MS = 45_000;

const failingUrls = ({ links }: ChaosStack): string[] =>
  RECEIVER_FAULTS.map((fault) => `http://${links['worker to receiver'][0]!.address}/${fault}`);

/** A healthy shop's webhook must not notice the others. */
const PASSING: Cell = {
  name: 'receivers fail in eight ways at once',
  spares: 'service',
  webhookUrls: failingUrls,
  async strike({ stack: { receiver }, random }) {
    const logStart = receiver.logSize();
    const notHit = (): ReceiverFault[] => {
      const calls = receiver.read(logStart);
      return RECEIVER_FAULTS.filter(
        (fault) => !calls.some(({ path, status }) => path === `/${fault}` && (ANSWERS[fault] ?? status) === status),
      );
    };
    receiver.setFailing(true);
    try {
      await delay(faultMs(random));
      await until(
        () => notHit().length === 0,
        () => `a webhook meets each fault: none met ${notHit().join(', ')}`,
        FAULTS_HIT_WITHIN_MS,
      );
    } finally {
      receiver.setFailing(false);
    }
  },
  allowed: () => ({ overlaps: (url) => /\/(late|drip)$/.test(url) }),
};

const brokenUrls = ({ receiver }: ChaosStack): string[] => [
  // A bad certificate.
  `https://localhost:${receiver.tlsPort}/steady`,
  'http://receiver.invalid/hooks',
  // Refuses connections.
  'http://127.0.0.1:9/hooks',
];

/** With a short schedule: the webhooks of these shops end exhausted one after the other, and all others arrive. */
const LASTING: Cell = {
  name: 'receivers have a bad certificate, an unknown host, or a closed port',
  spares: 'service',
  prepare: ({ stack }) =>
    relaunch(stack.workers, {
      WEBHOOK_RETRY_DELAYS: '0,0.5',
      // The URLs of a shop share a breaker, and every attempt at a silent endpoint is a probe.
      ...constants({ ...CHAOS_CONSTANTS, webhookBreaker: { minWaitMs: 50, maxWaitMs: 50 } }),
    }),
  webhookUrls: brokenUrls,
  strike: ({ random }) => delay(faultMs(random)),
  async verify({ stack, shops }) {
    const urls = brokenUrls(stack);
    const { rows } = await stack.db.query<{ sellerId: string; exhausted: number; delivered: number }>(
      `select seller_id as "sellerId", count(*) filter (where state = 'exhausted')::integer as exhausted,
         count(*) filter (where state = 'delivered')::integer as delivered
       from webhook_event where seller_id = any($1) group by seller_id`,
      [shops.map(({ id }) => id)],
    );
    return urls.flatMap((url) => {
      const { id } = shops.find(({ webhookUrl }) => webhookUrl === url)!;
      const { exhausted = 0, delivered = 0 } = rows.find(({ sellerId }) => sellerId === id) ?? {};
      expectHits(exhausted, `webhook to ${url} exhausted`);
      return delivered === 0 ? [] : [{ orderId: '', fault: `${delivered} webhooks were delivered to ${url}` }];
    });
  },
  allowed: ({ stack }) => ({ undelivered: (url) => (brokenUrls(stack).includes(url) ? ['exhausted'] : []) }),
  // An attempt at an unknown host takes a second, and they are made one after the other.
  quietWithinMs: 400_000,
};

export const RECEIVER_CELLS: Cell[] = [PASSING, LASTING];
