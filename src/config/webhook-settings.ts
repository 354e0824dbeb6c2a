import { z } from 'zod';
import { STANDARD_SCHEDULE } from '../domain/webhook';
import { SECOND, flag, integer, setting } from './setting';

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
  }),
  webhookConcurrency: z.object({
    total: setting('WEBHOOK_CONCURRENCY', integer(1, 10_000).default(100), 'Concurrent attempts per worker.'),
    perSeller: setting(
      'WEBHOOK_CONCURRENCY_PER_SELLER',
      integer(1, 10_000).default(10),
      'Concurrent attempts per worker for one seller.',
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
