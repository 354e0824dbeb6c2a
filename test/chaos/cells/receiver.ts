import { setTimeout as delay } from 'node:timers/promises';
import { type Cell, type Scene, expectHits, faultMs } from '../cell';
import { type Mode, RECEIVER_FAULTS } from '../receiver';
import { relaunch } from '../service-part';
import type { ChaosStack } from '../stack';

const NAMES: Record<(typeof RECEIVER_FAULTS)[number], string> = {
  late: 'responds 200 after the deadline',
  '500': 'responds 500',
  '429': 'responds 429 with Retry-After',
  '410': 'responds 410',
  redirect: 'redirects inwards',
  endless: 'sends an endless body',
  drip: 'sends 1 byte per second',
  reset: 'resets the connection after the request',
};

const passing = RECEIVER_FAULTS.map((mode): Cell => ({
  name: `the receiver ${NAMES[mode]}`,
  group: 'receiver',
  spares: 'service',
  strike: ({ stack, random }) => failReceiver(stack, mode, faultMs(random)),
  allowed: () => ({ overlaps: mode === 'late' || mode === 'drip' }),
}));

/** How the receiver answers in these modes. In the others, it has not answered when the mode ends. */
const ANSWERS: Partial<Record<Mode, number>> = { '500': 500, '429': 429, '410': 410, redirect: 302 };

export async function failReceiver({ receiver }: ChaosStack, mode: Mode, ms: number): Promise<void> {
  const [from, logStart] = [Date.now(), receiver.logSize()];
  receiver.setMode(mode);
  try {
    await delay(ms);
    const calls = receiver.read(logStart).filter(({ at, status }) => at > from && status === ANSWERS[mode]);
    expectHits(calls.length, `webhook that met the mode ${mode}`);
  } finally {
    receiver.setMode('healthy');
  }
}

/** Some shops' URLs never work, with a short schedule: their webhooks end exhausted one after the other, and all others arrive. */
function lasting(name: string, urlOf: (stack: ChaosStack) => string, quietWithinMs?: number): Cell {
  return {
    name,
    group: 'receiver',
    spares: 'service',
    prepare: ({ stack }: Scene) =>
      relaunch(stack.workers, {
        WEBHOOK_RETRY_DELAYS: '0,0.5',
        // The URLs of a shop share a breaker, and every attempt at a silent endpoint is a probe.
        WEBHOOK_BREAKER_MIN_WAIT_MS: '50',
        WEBHOOK_BREAKER_MAX_WAIT_MS: '50',
      }),
    webhookUrls: (stack) => [urlOf(stack)],
    strike: ({ random }) => delay(faultMs(random)),
    async verify({ stack, shops }) {
      const { rows } = await stack.db.query<{ state: string; count: number }>(
        'select state, count(*)::integer from webhook_event where seller_id = $1 group by state',
        [shops.find(({ webhookUrl }) => webhookUrl === urlOf(stack))!.id],
      );
      const countOf = (wanted: string): number => rows.find(({ state }) => state === wanted)?.count ?? 0;
      expectHits(countOf('exhausted'), 'webhook exhausted');
      const delivered = countOf('delivered');
      return delivered === 0 ? [] : [{ orderId: '', fault: `${delivered} webhooks were delivered to ${urlOf(stack)}` }];
    },
    allowed: ({ stack }) => ({ undelivered: (url) => (url === urlOf(stack) ? ['exhausted'] : []) }),
    ...(quietWithinMs !== undefined && { quietWithinMs }),
  };
}

export const RECEIVER_CELLS: Cell[] = [
  ...passing,
  lasting('a receiver has a bad certificate', ({ receiver }) => `https://localhost:${receiver.tlsPort}/steady`),
  // An attempt at an unknown host takes a second, and they are made one after the other.
  lasting('a receiver has an unknown host', () => 'http://receiver.invalid/hooks', 400_000),
  lasting('a receiver refuses connections', () => 'http://127.0.0.1:9/hooks'),
];
