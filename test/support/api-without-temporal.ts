import { loadConfig } from '../../src/config';
import { startServer } from '../../src/server';
import { freePort } from '../../tools/local-stack/ports';
import { QUICK, log } from './stack';

export interface ApiServer {
  url: string;
  stop(): Promise<void>;
}

/** Starts an API that cannot reach Temporal. `env` must have DATABASE_URL. */
export async function startApiWithoutTemporal(env: Record<string, string>, logger = log): Promise<ApiServer> {
  const temporal = { connectionOptions: { address: `127.0.0.1:${await freePort()}` }, namespace: 'none' };
  const server = await startServer(loadConfig({ ...QUICK, ...env }), temporal, logger);
  return { url: `http://127.0.0.1:${server.port}`, stop: () => server.stop() };
}
