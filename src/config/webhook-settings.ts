import { z } from 'zod';
import { STANDARD_SCHEDULE } from '../domain/retry-schedule';
import { DAY, MINUTE, SECOND, flag, integer, milliseconds, setting } from './setting';

const STANDARD_DELAYS = STANDARD_SCHEDULE.delaysMs.map((ms) => ms / SECOND).join(',');

export const webhookSettings = {
  webhookSchedule: z.object({
    delaysMs: setting(
      'WEBHOOK_RETRY_DELAYS',
      z
        .string()
        .regex(/^0(,\d+(\.\d+)?)*$/, 'must be 0, then further seconds separated by commas, such as 0,5,300')
        .meta({ unit: 'seconds' })
        .default(STANDARD_DELAYS)
        .transform((list) => list.split(',').map((seconds) => Math.round(Number(seconds) * SECOND))),
      'Delay before each attempt. The first one must be 0. The number of delays is the number of attempts.',
    ),
    attemptsWithSuccessor: setting(
      'WEBHOOK_ATTEMPTS_WITH_SUCCESSOR',
      integer(1, 100).default(STANDARD_SCHEDULE.attemptsWithSuccessor),
      'Attempts for an event while a later event of the same order waits.',
    ),
    maxWaitWithSuccessorMs: setting(
      'WEBHOOK_WAIT_LIMIT_WITH_SUCCESSOR_MS',
      milliseconds(0, DAY).default(STANDARD_SCHEDULE.maxWaitWithSuccessorMs),
      'Longest wait for the next attempt while a later event of the same order waits, whatever the schedule or the ' +
        'receiver requests.',
    ),
  }),
  webhookTimeoutMs: setting(
    'WEBHOOK_TIMEOUT_MS',
    milliseconds(100, 15 * SECOND).default(15 * SECOND),
    'Time for one attempt.',
  ),
  webhookConcurrency: z.object({
    total: setting('WEBHOOK_CONCURRENCY', integer(1, 10_000).default(100), 'Concurrent attempts per worker.'),
    perSeller: setting(
      'WEBHOOK_CONCURRENCY_PER_SELLER',
      integer(1, 10_000).default(10),
      'Concurrent attempts per worker for one seller.',
    ),
  }),
  webhookBreaker: z.object({
    failures: setting(
      'WEBHOOK_BREAKER_FAILURES',
      integer(1, 1000).default(5),
      'After this many attempts in a row without an answer, the webhooks to an endpoint wait, and one at a time is ' +
        'sent as a probe.',
    ),
    minWaitMs: setting(
      'WEBHOOK_BREAKER_MIN_WAIT_MS',
      milliseconds(0, DAY).default(15 * SECOND),
      'Shortest time until the next probe, which is otherwise a quarter of the outage so far.',
    ),
    maxWaitMs: setting(
      'WEBHOOK_BREAKER_MAX_WAIT_MS',
      milliseconds(0, DAY).default(5 * MINUTE),
      'Longest time until the next probe.',
    ),
  }),
  addressPolicy: z.object({
    allowPrivate: setting(
      'WEBHOOK_ALLOW_PRIVATE',
      flag(),
      'Allows webhooks to private addresses, and in production over plain http.',
    ),
    allowPrivateInProduction: setting(
      'WEBHOOK_ALLOW_PRIVATE_IN_PRODUCTION',
      flag(),
      'In production, `WEBHOOK_ALLOW_PRIVATE=true` is refused unless this is `true` too.',
    ),
  }),
};
