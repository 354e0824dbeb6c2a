import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'pg';
import { createPool } from '../../../src/db/pool';
import { createWriteProbe, probeWrite } from '../../../src/db/write-probe';
import { useDatabase } from '../../support/database';

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

test('all checks of a second share one probe', async () => {
  const probe = createWriteProbe(database.url, () => undefined);
  const query = jest.spyOn(Pool.prototype, 'query');
  const concurrent = await Promise.all(Array.from({ length: 100 }, () => probe.check()));
  expect(concurrent).toEqual(Array(100).fill('ok'));
  for (let index = 0; index < 100; index++) await probe.check();
  expect(query).toHaveBeenCalledTimes(1);
  await sleep(1100);
  await probe.check();
  expect(query).toHaveBeenCalledTimes(2);
  query.mockRestore();
  await probe.end();
});
