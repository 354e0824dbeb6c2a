import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { createCheckoutKey } from './keys';
import { PACKAGE_ROOT } from '../../src/package';
import { createTemporalClient } from '../../src/temporal/connection';
import { ensureNamespace } from '../../src/temporal/server';
import { freePort } from '../../tools/local-stack/ports';
import { apiOf } from './api';
import { createDatabase, openDatabase } from './database';
import { startProcess } from './processes';
import { QUICK, type SharedStack, createSeller } from './stack';
import { useResource } from './use-resource';

/**
 * Starts the built API and worker, with the hosted checkout. Its sandbox lender leaves a referral undecided until the
 * test ends it.
 */
export async function startSharedStack(): Promise<{ pids: number[]; stop(): Promise<void> }> {
  const database = await createDatabase();
  await database.db.end();
  const [address, port] = [process.env.TEST_TEMPORAL_ADDRESS!, String(await freePort())];
  const namespace = `test-${randomBytes(6).toString('hex')}`;
  const client = createTemporalClient({ connectionOptions: { address }, namespace });
  await ensureNamespace(client);
  await client.connection.close();
  const env = {
    ...QUICK,
    DATABASE_URL: database.url,
    TEMPORAL_ADDRESS: address,
    TEMPORAL_NAMESPACE: namespace,
    PORT: port,
    CHECKOUT_BASE_URL: `http://127.0.0.1:${port}`,
    HOSTED_CHECKOUT: 'true',
    SANDBOX_REFERRAL_MS: '600000',
    RATE_LIMIT_PAY_LINK: '1000',
    UPDATE_TIMEOUT_MS: '60000',
  };
  process.env.TEST_SHARED_STACK = JSON.stringify(env);
  // It makes the timeouts of Postgres long, as in this process.
  const nodeOptions = ['--require', path.join(PACKAGE_ROOT, 'dist/test/support/database.js')];
  const processes = await Promise.all([
    startProcess('server', env, { nodeOptions }),
    startProcess('worker', env, { nodeOptions }),
  ]);
  return {
    pids: processes.map(({ pid }) => pid),
    async stop() {
      await Promise.all(processes.map((one) => one.signal('SIGTERM')));
    },
  };
}

/**
 * The service that test files share, with a sandbox account for this file. Its tests look at nothing but their orders:
 * those of other files are in the same tables. If they need other settings, or stop a part, see `useStack`.
 */
export function useSharedStack(): SharedStack {
  return useResource(join, async ({ db, client }) => {
    await client.connection.close();
    await db.end();
  });
}

async function join(): Promise<SharedStack> {
  const env = JSON.parse(process.env.TEST_SHARED_STACK!) as Record<string, string>;
  const temporal = { connectionOptions: { address: env.TEMPORAL_ADDRESS! }, namespace: env.TEMPORAL_NAMESPACE! };
  const db = openDatabase(env.DATABASE_URL!);
  const seller = await createSeller(db, undefined, { sandbox: true });
  return {
    api: apiOf(env.CHECKOUT_BASE_URL!, seller, await createCheckoutKey(db)),
    db,
    databaseUrl: env.DATABASE_URL!,
    client: createTemporalClient(temporal),
    temporal,
    seller,
    env,
  };
}
