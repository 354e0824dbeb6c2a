import { spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { insertSeller } from '../../src/db/sellers';
import { PACKAGE_ROOT } from '../../src/package';
import { useDatabase } from '../support/database';
import { installed } from '../support/installed';
import { hasPostgresTools, pathOfPostgresTools } from '../support/postgres-tools';

/** deploy/hosts/backup.sh and restore-test.sh, with restic and a repository in a folder. */
const hasRestic = installed(['restic'], () => ['restic', 'version']).length === 1;
const database = useDatabase();
let folder: string;
let env: Record<string, string>;
beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'order-service-restic-'));
  mkdirSync(path.join(folder, 'tmp'));
  mkdirSync(path.join(folder, 'metrics'));
  env = {
    PATH: pathOfPostgresTools(),
    HOME: folder,
    TMPDIR: path.join(folder, 'tmp'),
    DATABASE_URL: database.url,
    RESTORE_SERVER_URL: database.url,
    RESTIC_REPOSITORY: path.join(folder, 'repository'),
    RESTIC_PASSWORD: 'secret',
    BACKUP_METRICS_FOLDER: path.join(folder, 'metrics'),
  };
  if (hasRestic) expect(await run('restic', ['init'])).toMatchObject({ code: 0 });
});
afterEach(() => rmSync(folder, { recursive: true }));

async function run(program: string, args: string[], more: Record<string, string> = {}) {
  const child = spawn(program, args, { env: { ...env, ...more } });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  const [code] = (await once(child, 'close')) as [number];
  return { code, output };
}
const script = (name: string, more?: Record<string, string>) =>
  run('bash', [path.join(PACKAGE_ROOT, 'deploy/hosts', name)], more);
const addSeller = (name: string) => insertSeller(database.db, randomUUID(), name);
const snapshots = async (): Promise<unknown[]> => JSON.parse((await run('restic', ['snapshots', '--json'])).output);
const restoreDatabases = async () =>
  (await database.db.query(`select from pg_database where datname = 'orders_restore_test'`)).rowCount;

(hasRestic && hasPostgresTools ? describe : describe.skip)('the scheduled backup', () => {
  test('leaves the machine encrypted, can be restored, and leaves nothing behind', async () => {
    await addSeller('Backed-up Shop Ltd');
    expect(await script('backup.sh')).toEqual({ code: 0, output: expect.stringContaining('backup sent to ') });
    expect(readFileSync(path.join(folder, 'metrics/order-service-backup.prom'), 'utf8')).toMatch(
      /^order_service_last_backup_timestamp_seconds \d{10}\n$/,
    );
    const stored = readdirSync(env.RESTIC_REPOSITORY!, { recursive: true, encoding: 'utf8' })
      .map((name) => path.join(env.RESTIC_REPOSITORY!, name))
      .filter((file) => spawnSync('grep', ['-q', 'Backed-up Shop', file]).status === 0);
    expect(stored).toEqual([]);

    const { code, output } = await script('restore-test.sh');
    expect([code, output]).toEqual([
      0,
      expect.stringMatching(/^restored in \d+ s: 1 sellers, 0 orders, .*backup 0 h old$/m),
    ]);
    expect([await restoreDatabases(), readdirSync(env.TMPDIR!)]).toEqual([0, []]);
  });

  test('a dump that fails becomes no backup, and does not count as one', async () => {
    const missing = new URL(database.url);
    missing.pathname = '/does_not_exist';
    expect(await script('backup.sh', { DATABASE_URL: missing.href })).toEqual({
      code: 1,
      output: expect.stringContaining('does_not_exist'),
    });
    expect(await snapshots()).toEqual([]);
    expect(existsSync(path.join(folder, 'metrics/order-service-backup.prom'))).toBe(false);
  });

  test('the restore test fails if the backup has no seller or is too old, and never touches a database that exists', async () => {
    await database.db.query('truncate seller cascade');
    expect((await script('backup.sh')).code).toBe(0);
    expect(await script('restore-test.sh')).toMatchObject({
      code: 1,
      output: expect.stringContaining('has no seller'),
    });
    await addSeller('Another Shop Ltd');
    expect((await script('backup.sh')).code).toBe(0);
    expect(await script('restore-test.sh', { MAX_AGE_HOURS: '-1' })).toMatchObject({
      code: 1,
      output: expect.stringContaining('older than -1 h'),
    });
    expect(await restoreDatabases()).toBe(0);

    await database.db.query('create database orders_restore_test');
    try {
      expect(await script('restore-test.sh')).toMatchObject({
        code: 1,
        output: expect.stringContaining('already exists'),
      });
      expect(await restoreDatabases()).toBe(1);
    } finally {
      await database.db.query('drop database orders_restore_test');
    }
  });
});
