import { MockActivityEnvironment } from '@temporalio/testing';
import pino from 'pino';
import { createWebhookActivities } from '../../../activities/webhook-activities';
import type { Db } from '../../../src/db/pool';
import { STANDARD_SCHEDULE } from '../../../src/domain/retry-schedule';
import { NO_KEYS } from '../../../src/encryption/key-ring';

const unavailable = { query: () => Promise.reject(new TypeError('Postgres is unavailable')) } as unknown as Db;

const activities = createWebhookActivities({
  db: unavailable,
  keys: NO_KEYS,
  sender: { send: () => Promise.reject(new Error('not reached')) },
  schedule: STANDARD_SCHEDULE,
  attemptsPerSeller: 10,
  breaker: { failures: 3, minWaitMs: 60_000, maxWaitMs: 3_600_000 },
  log: pino({ level: 'silent' }),
});

const WEBHOOK_ID = '3f0c8a52-6c1b-4d0e-9a57-0b6f2f1c7d34';

test.each([
  [1, 1000],
  [2, 2000],
  [6, 32_000],
  [7, 60_000],
  [2000, 60_000],
])('after %d failed calls of an unavailable Postgres, a webhook waits for %d ms', async (attempt, nextRetryDelay) => {
  const call = (activity: () => Promise<unknown>) => new MockActivityEnvironment({ attempt }).run(activity);
  const failure = { message: 'Postgres is unavailable', type: 'TypeError', nextRetryDelay };
  await expect(
    call(() => activities.sendWebhook({ webhookId: WEBHOOK_ID, hasSuccessor: false })),
  ).rejects.toMatchObject(failure);
  await expect(call(() => activities.resendWebhook(WEBHOOK_ID))).rejects.toMatchObject(failure);
});
