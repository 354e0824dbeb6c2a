import { formatError } from './cli/cli-error';
import { loadDatabaseConfig } from './config';
import { migrate } from './db/migrations';
import { isDatabaseUnavailable } from './db/database-errors';
import { isExplained } from './entry-point';
import { createLogger } from './logger';

/** Migrates the database, then exits. Deployments run it before they roll out the API and the workers. */
async function main(): Promise<void> {
  // Unless it reaches the end.
  process.exitCode = 1;
  const config = loadDatabaseConfig(process.env);
  const log = createLogger(config.logLevel, 'migrate');
  const applied = await migrate(config.databaseUrl, {
    onBusy: ({ message }) =>
      log.warn(
        { reason: message },
        'another migration or a long transaction holds a lock that a migration needs, trying again',
      ),
  });
  log.info({ applied }, 'the database schema is current');
  process.exitCode = 0;
}

void main().catch((error: unknown) => {
  const cause = isDatabaseUnavailable(error) ? formatError(error) : error;
  console.error(isExplained(error) ? error.message : cause);
  process.exit(1);
});
