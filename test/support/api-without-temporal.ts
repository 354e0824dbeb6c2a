import { startServer } from '../../src/server';
import { freePort } from '../../tools/local-stack/ports';
import { apiOf } from './api';
import { loadTestConfig } from './constants';
import { createDatabase } from './database';
import { QUICK, createSeller, log } from './stack';
import { useResource } from './use-resource';

export interface ApiServer {
  url: string;
  stop(): Promise<void>;
}

/**
 * Starts an API that cannot reach Temporal. `env` must have DATABASE_URL.
 * @param port where Temporal should be; default: one that refuses connections
 */
export async function startApiWithoutTemporal(
  env: Record<string, string>,
  logger = log,
  port?: number,
): Promise<ApiServer> {
  const address = `127.0.0.1:${port ?? (await freePort())}`;
  const temporal = { connectionOptions: { address }, namespace: 'none' };
  const server = await startServer(loadTestConfig({ ...QUICK, ...env }), temporal, logger);
  return { url: `http://127.0.0.1:${server.port}`, stop: () => server.stop() };
}

/** The same for the tests of a file, with a database and a seller. */
export function useApiWithoutTemporal(env: Record<string, string>, logger = log) {
  return useResource(
    async () => {
      const database = await createDatabase();
      const server = await startApiWithoutTemporal({ ...env, DATABASE_URL: database.url }, logger);
      const seller = await createSeller(database.db);
      return { server, database, seller, api: apiOf(server.url, seller, 'ck_unknown') };
    },
    async ({ server, database }) => {
      await server.stop();
      await database.drop();
    },
  );
}
