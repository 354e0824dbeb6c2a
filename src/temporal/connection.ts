import { type InterceptingCall, type Interceptor, status } from '@grpc/grpc-js';
import { Client, Connection, defaultGrpcRetryOptions, makeGrpcRetryInterceptor } from '@temporalio/client';
import type { PayloadCodec } from '@temporalio/common';
import { type ClientConnectConfig, loadClientConnectConfig } from '@temporalio/envconfig';

/**
 * Reads Temporal's address, namespace and TLS settings from the TEMPORAL_* variables or a profile of
 * `@temporalio/envconfig`.
 * @param env replaces the environment of the process
 */
export function temporalSettings(env?: Readonly<Record<string, string | undefined>>): ClientConnectConfig {
  const given = env && Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined));
  return loadClientConnectConfig(given && { overrideEnvVars: given as Record<string, string> });
}

/** The HTTP proxy of `TEMPORAL_PROXY` for `NativeConnection`. */
export function nativeProxy(): { proxy?: { type: 'http-connect'; targetHost: string } } {
  const { TEMPORAL_PROXY: targetHost } = process.env;
  return targetHost ? { proxy: { type: 'http-connect', targetHost } } : {};
}

/** grpc-js uses the proxy of other programs (`https_proxy`) unless told not to, and is told its own by `grpc_proxy` only. */
function proxyArguments(): { 'grpc.enable_http_proxy': number } {
  const { proxy } = nativeProxy();
  if (proxy) process.env.grpc_proxy = `http://${proxy.targetHost}`;
  return { 'grpc.enable_http_proxy': Number(proxy !== undefined) };
}

/** A delay, or what is left of it until a deadline in Unix ms. */
export const endAt = (deadline: number, delayMs: number, now: number): number =>
  Math.min(delayMs, Math.max(deadline - now, 0));

/** Stands for a call on a connection that was closed before it was repeated. grpc-js throws in the timer of the repetition. */
const CLOSED: Pick<InterceptingCall, 'start' | 'sendMessage' | 'halfClose'> = {
  start: (metadata, listener) =>
    listener?.onReceiveStatus?.({ code: status.CANCELLED, details: 'the connection is closed', metadata }),
  sendMessage: () => undefined,
  halfClose: () => undefined,
};

/** The SDK's retries, with delays that end at the call's deadline: the SDK waits up to 6 s. */
const retryUntilDeadline: Interceptor = (options, nextCall) => {
  const retry = defaultGrpcRetryOptions();
  let attempts = 0;
  return makeGrpcRetryInterceptor({
    ...retry,
    delayFunction: (attempt, failure) =>
      endAt(Number(options.deadline ?? Infinity), retry.delayFunction(attempt, failure), Date.now()),
  })(options, (next) => {
    try {
      return nextCall(next);
    } catch (error) {
      if (attempts === 0) throw error;
      return CLOSED as InterceptingCall;
    } finally {
      attempts += 1;
    }
  });
};

/** After a long outage, gRPC would try to connect every two minutes. */
const RECONNECT_WITHIN_MS = 2000;

/** Connects at the first call, so that the API starts and creates orders while Temporal is unavailable. */
export function createTemporalClient(
  { connectionOptions, namespace } = temporalSettings(),
  payloadCodecs: PayloadCodec[] = [],
): Client {
  return new Client({
    connection: Connection.lazy({
      ...connectionOptions,
      interceptors: [retryUntilDeadline],
      channelArgs: { 'grpc.max_reconnect_backoff_ms': RECONNECT_WITHIN_MS, ...proxyArguments() },
    }),
    ...(namespace && { namespace }),
    dataConverter: { payloadCodecs },
  });
}
