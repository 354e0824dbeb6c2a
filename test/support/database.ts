import { randomBytes } from 'node:crypto';
import pg from 'pg';
import type { Db } from '../../src/db/pool';
import { createPool } from '../../src/db/pool';

export interface TestDatabase {
  url: string;
  db: Db;
  drop(): Promise<void>;
}

/** A database of the caller's own on the run's Postgres, with all migrations. */
export async function createDatabase(): Promise<TestDatabase> {
  const template = new URL(process.env.TEST_DATABASE_URL!);
  const url = new URL(template);
  url.pathname = `/test_${randomBytes(6).toString('hex')}`;
  await administer(`create database ${url.pathname.slice(1)} template ${template.pathname.slice(1)}`);
  const db = createPool(url.href, 10, () => undefined);
  return {
    url: url.href,
    db,
    async drop() {
      await db.end();
      await administer(`drop database ${url.pathname.slice(1)} with (force)`);
    },
  };
}

/** How many statements with `part` in them wait for a lock in the database. */
export async function statementsWaiting(db: Db, part: string): Promise<number> {
  const { rowCount } = await db.query(
    `select from pg_stat_activity
     where datname = current_database() and wait_event_type = 'Lock' and position($1 in query) > 0`,
    [part],
  );
  return rowCount ?? 0;
}

async function administer(sql: string): Promise<void> {
  const url = new URL(process.env.TEST_DATABASE_URL!);
  url.pathname = '/postgres';
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  try {
    // Two files that copy the template at once are told to wait by an error.
    await client.query('select pg_advisory_lock(1)');
    await client.query(sql);
  } finally {
    await client.end();
  }
}
