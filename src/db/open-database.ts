import type { Logger } from 'pino';
import { type Db, createPool } from './pool';
import { type WriteProbe, createWriteProbe } from './write-probe';

/** The connections of a process to Postgres. */
interface Database {
  db: Db;
  /** A smaller pool for inserts of new orders. */
  insertDb: Db;
  checkDatabase: WriteProbe['check'];
  end: () => Promise<void>;
}

/** Creates the pool of a process and its health check. Connects when they are first used. */
export function openDatabase(
  { databaseUrl, databasePoolSize }: { databaseUrl: string; databasePoolSize: number },
  log: Logger,
): Database {
  const onError = (error: Error) => log.warn({ err: error }, 'database connection failed');
  const db = createPool(databaseUrl, databasePoolSize, onError);
  const insertDb = createPool(databaseUrl, Math.ceil(databasePoolSize / 4), onError);
  const writeProbe = createWriteProbe(databaseUrl, onError);
  return {
    db,
    insertDb,
    checkDatabase: writeProbe.check,
    async end() {
      await Promise.all([db.end(), insertDb.end(), writeProbe.end()]);
    },
  };
}
