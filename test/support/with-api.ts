import { startServer } from '../../src/server';
import { freePort } from '../../tools/local-stack/ports';
import { type Api, apiOf } from './api';
import { loadTestConfig } from './constants';
import { type SharedStack, log } from './stack';
import { useResource } from './use-resource';

/** Starts a further API of a service in this process, with other settings. */
async function startApi(
  stack: SharedStack,
  env: Record<string, string>,
  logger = log,
): Promise<{ api: Api; stop(): Promise<void> }> {
  const port = String(await freePort());
  const url = `http://127.0.0.1:${port}`;
  // With the hosted checkout, the pages and the API share one address.
  const pages = stack.env.HOSTED_CHECKOUT === 'true' && { CHECKOUT_BASE_URL: url };
  const settings = { ...stack.env, PORT: port, ...pages, ...env };
  const server = await startServer(loadTestConfig(settings), stack.temporal, logger);
  return { api: apiOf(url, stack.seller, stack.api.checkoutKey), stop: () => server.stop() };
}

/** A further API of a service for the tests of a file. Declare it after the service. */
export function useApi(stack: SharedStack, env: Record<string, string>): { api: Api } {
  return useResource(
    () => startApi(stack, env),
    (started) => started.stop(),
  );
}

/** Calls a further API of a service, which ends afterwards. */
export async function withApi<T>(
  stack: SharedStack,
  env: Record<string, string>,
  call: (api: Api) => Promise<T>,
  logger = log,
): Promise<T> {
  const started = await startApi(stack, env, logger);
  try {
    return await call(started.api);
  } finally {
    await started.stop();
  }
}
