import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import pg from 'pg';
import { PACKAGE_ROOT } from '../../../src/package';
import type { Servers } from '../servers';

const SCHEMA = path.join(PACKAGE_ROOT, 'test/bench/arms/schema.sql');

interface ArmDatabase {
  url: string;
  db: pg.Pool;
  close: () => Promise<void>;
}

/** Creates an arm's database. `orders` is the template with the service's own schema. */
export async function createArmDatabase(
  { admin, databaseUrl }: Servers,
  arm: string,
  schema: 'service' | 'least' = 'least',
): Promise<ArmDatabase> {
  const name = `${arm}_${randomBytes(4).toString('hex')}`;
  await admin.query(`create database ${name}${schema === 'service' ? ' template orders' : ''}`);
  const url = databaseUrl(name);
  const db = new pg.Pool({ connectionString: url, max: 20 });
  // Without a listener, a connection that the server closes would end the bench.
  db.on('error', () => undefined);
  if (schema === 'least') await db.query(readFileSync(SCHEMA, 'utf8'));
  return {
    ...{ url, db },
    async close() {
      await db.end();
      await admin.query(`drop database ${name} with (force)`);
    },
  };
}
