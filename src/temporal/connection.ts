import type { Interceptor } from '@grpc/grpc-js';
import { Client, Connection, defaultGrpcRetryOptions, makeGrpcRetryInterceptor } from '@temporalio/client';
import { type ClientConnectConfig, loadClientConnectConfig } from '@temporalio/envconfig';

/**
 * Reads where Temporal is from the TEMPORAL_* variables or a profile, as `@temporalio/envconfig` does.
 * @param env used instead of the process's environment
 */
export function temporalSettings(env?: Readonly<Record<string, string | undefined>>): ClientConnectConfig {
  const given = env && Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined));
  return loadClientConnectConfig(given && { overrideEnvVars: given as Record<string, string> });
}

/** The SDK's own retries, but with delays cut at the deadline: its delays of up to 6 s would exceed it. */
const retryUntilDeadline: Interceptor = (options, nextCall) => {
  const retry = defaultGrpcRetryOptions();
  return makeGrpcRetryInterceptor({
    ...retry,
    delayFunction: (attempt, status) =>
      Math.min(retry.delayFunction(attempt, status), Math.max(Number(options.deadline ?? Infinity) - Date.now(), 0)),
  })(options, nextCall);
};

/** The client connects at its first call, so that the API starts and creates orders while Temporal is down. */
export function createTemporalClient({ connectionOptions, namespace } = temporalSettings()): Client {
  return new Client({
    connection: Connection.lazy({ ...connectionOptions, interceptors: [retryUntilDeadline] }),
    ...(namespace && { namespace }),
  });
}
