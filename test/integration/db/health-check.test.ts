import { Pool } from 'pg';
import { createHealthCheck } from '../../../src/db/pool';
import { holdDelays } from '../../support/clock';
import { holdTransaction, statementsWaiting, useDatabase } from '../../support/database';
import { until } from '../../support/until';

const database = useDatabase();

test('a check reports Postgres as unavailable after two seconds', async () => {
  const health = createHealthCheck(database.url, () => undefined);
  const held = await holdTransaction(database.db, 'lock table schema_migration');
  const limit = holdDelays(2000);
  const checked = health.check();
  await until(async () => (await statementsWaiting(database.db)) === 1, 'the statement waits');
  limit.release();
  expect(await checked).toBe('unavailable');
  expect(await statementsWaiting(database.db)).toBe(1);
  await held.rollback();
  await health.end();
});

test('all checks of a second share one statement', async () => {
  // Only the timers of the pool and of the check.
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
  const health = createHealthCheck(database.url, () => undefined);
  const query = jest.spyOn(Pool.prototype, 'query');
  const concurrent = await Promise.all(Array.from({ length: 100 }, () => health.check()));
  expect(concurrent).toEqual(Array(100).fill('ok'));
  for (let index = 0; index < 100; index++) await health.check();
  expect(query).toHaveBeenCalledTimes(1);
  jest.advanceTimersByTime(1000);
  await health.check();
  expect(query).toHaveBeenCalledTimes(2);
  query.mockRestore();
  jest.useRealTimers();
  await health.end();
});
