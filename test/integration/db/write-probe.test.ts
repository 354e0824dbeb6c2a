import { Pool } from 'pg';
import { createPool, createWriteProbe, probeWrite } from '../../../src/db/pool';
import { holdDelays } from '../../support/clock';
import { holdTransaction, statementsWaiting, useDatabase } from '../../support/database';
import { until } from '../../support/until';

const database = useDatabase();

test('the probe writes to the disk of Postgres, so that a full disk fails it', async () => {
  const withoutDisk = createPool(`${database.url}?options=-c%20temp_file_limit%3D0`, 1, () => undefined);
  await expect(probeWrite(withoutDisk)).rejects.toThrow(/temporary file size exceeds/);
  await withoutDisk.end();
});

test('the probe leaves no setting on its connection', async () => {
  const db = createPool(database.url, 1, () => undefined);
  const workMem = async () => (await db.query<{ work_mem: string }>('show work_mem')).rows[0];
  const before = await workMem();
  await probeWrite(db);
  expect(await workMem()).toEqual(before);
  await db.end();
});

test('a check does not wait for a probe that takes longer than two seconds', async () => {
  const probe = createWriteProbe(database.url, () => undefined);
  const held = await holdTransaction(database.db, 'lock table schema_migration');
  const limit = holdDelays(2000);
  const checked = probe.check();
  await until(async () => (await statementsWaiting(database.db)) === 1, 'the probe waits');
  limit.release();
  expect(await checked).toBe('unavailable');
  expect(await statementsWaiting(database.db)).toBe(1);
  await held.rollback();
  await probe.end();
});

test('all checks of a second share one probe', async () => {
  // Only the timers of the pool and of the probe.
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
  const probe = createWriteProbe(database.url, () => undefined);
  const query = jest.spyOn(Pool.prototype, 'query');
  const concurrent = await Promise.all(Array.from({ length: 100 }, () => probe.check()));
  expect(concurrent).toEqual(Array(100).fill('ok'));
  for (let index = 0; index < 100; index++) await probe.check();
  expect(query).toHaveBeenCalledTimes(1);
  jest.advanceTimersByTime(1000);
  await probe.check();
  expect(query).toHaveBeenCalledTimes(2);
  query.mockRestore();
  jest.useRealTimers();
  await probe.end();
});
