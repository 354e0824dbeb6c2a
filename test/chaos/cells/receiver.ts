import { setTimeout as delay } from 'node:timers/promises';
import { type Cell, type Scene, faultMs } from '../cell';
import { RECEIVER_FAULTS } from '../receiver';
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
  async strike({ stack, random }) {
    stack.receiver.setMode(mode);
    try {
      await delay(faultMs(random));
    } finally {
      stack.receiver.setMode('healthy');
    }
  },
  allowed: () => ({ overlaps: mode === 'late' || mode === 'drip' }),
}));

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
