import type { Environment } from '../config';
import { loadDatabaseConfig } from '../config';
import type { Db } from '../db/pool';
import { createPool } from '../db/pool';
import { createTemporalClient, temporalSettings } from '../temporal/connection';
import { TemporalUnreachable, reasonOf } from './errors';

const CONNECT_TIMEOUT_MS = 5000;

type TemporalClient = ReturnType<typeof createTemporalClient>;

/** What commands work with, opened when it is first asked for: a command needs no settings but those that it uses. */
export interface Services {
  env: Environment;
  db: () => Db;
  /** @throws TemporalUnreachable */
  temporal: () => Promise<TemporalClient>;
  close: () => Promise<void>;
}

export function createServices(env: Environment): Services {
  let db: Db | undefined;
  let client: TemporalClient | undefined;
  return {
    env,
    db: () => (db ??= createPool(loadDatabaseConfig(env).databaseUrl, 1, () => undefined)),
    async temporal() {
      const settings = temporalSettings(env);
      const options = { ...settings.connectionOptions, connectTimeout: CONNECT_TIMEOUT_MS };
      client ??= createTemporalClient({ ...settings, connectionOptions: options });
      try {
        await client.connection.ensureConnected();
      } catch (error) {
        throw new TemporalUnreachable(
          `Temporal cannot be reached at ${options.address ?? 'localhost:7233'}: ${reasonOf(error)}`,
        );
      }
      return client;
    },
    async close() {
      await db?.end();
      await client?.connection.close();
    },
  };
}
