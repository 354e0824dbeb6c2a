import type { Interceptor } from '@grpc/grpc-js';
import { Client, Connection, defaultGrpcRetryOptions, makeGrpcRetryInterceptor } from '@temporalio/client';
import type { ClientConnectConfig } from '@temporalio/envconfig';
import { loadClientConnectConfig } from '@temporalio/envconfig';

export const ORDER_TASK_QUEUE = 'orders';

/**
 * Where Temporal is: by the TEMPORAL_* variables or a profile, as `@temporalio/envconfig` reads them.
 * @param env instead of the process's own environment
 */
export function temporalSettings(env?: Readonly<Record<string, string | undefined>>): ClientConnectConfig {
  const given = env && Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined));
  return loadClientConnectConfig(given && { overrideEnvVars: given as Record<string, string> });
}

/** The SDK's own tries again, but for its waits: up to 6 s, they would hold a call beyond its deadline. */
const retryUntilDeadline: Interceptor = (options, nextCall) => {
  const retry = defaultGrpcRetryOptions();
  return makeGrpcRetryInterceptor({
    ...retry,
    delayFunction: (attempt, status) =>
      Math.min(retry.delayFunction(attempt, status), Math.max(Number(options.deadline ?? Infinity) - Date.now(), 0)),
  })(options, nextCall);
};

/** A client that connects at its first call, so that the API starts and creates orders while Temporal is down. */
export function createTemporalClient({ connectionOptions, namespace } = temporalSettings()): Client {
  return new Client({
    connection: Connection.lazy({ ...connectionOptions, interceptors: [retryUntilDeadline] }),
    ...(namespace && { namespace }),
  });
}
