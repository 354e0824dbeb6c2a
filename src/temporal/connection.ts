import { Client, Connection } from '@temporalio/client';
import type { ClientConnectConfig } from '@temporalio/envconfig';
import { loadClientConnectConfig } from '@temporalio/envconfig';

export const TASK_QUEUE = 'orders';

/**
 * Where Temporal is: by the TEMPORAL_* variables or a profile, as `@temporalio/envconfig` reads them.
 * @param env instead of the process's own environment
 */
export function temporalSettings(env?: Readonly<Record<string, string | undefined>>): ClientConnectConfig {
  const given = env && Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined));
  return loadClientConnectConfig(given && { overrideEnvVars: given as Record<string, string> });
}

/** A client that connects at its first call, so that the API starts and creates orders while Temporal is down. */
export function createTemporalClient({ connectionOptions, namespace } = temporalSettings()): Client {
  return new Client({ connection: Connection.lazy(connectionOptions), ...(namespace && { namespace }) });
}
