import { createPool } from '../../../src/db/pool';
import { probeWrite } from '../../../src/db/write-probe';
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
