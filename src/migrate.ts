import { ConfigError, loadDatabaseConfig } from './config';
import { migrate } from './db/migrate';
import { createPool } from './db/pool';
import { createLogger } from './logger';

/** Migrates the database, then exits. Deployments run it before they roll out the API and the workers. */
async function main(): Promise<void> {
  const config = loadDatabaseConfig(process.env);
  const log = createLogger(config.logLevel, 'migrate');
  const db = createPool(config.databaseUrl, 1, (error) => log.warn({ err: error }, 'database'));
  const applied = await migrate(db);
  log.info({ applied }, applied.length > 0 ? 'migrated' : 'nothing to migrate');
  await db.end();
}

void main().catch((error: unknown) => {
  console.error(error instanceof ConfigError ? error.message : error);
  process.exit(1);
});
