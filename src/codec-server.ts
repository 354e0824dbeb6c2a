import Koa from 'koa';
import bodyParser from 'koa-bodyparser';
import { isIP } from 'node:net';
import type { Logger } from 'pino';
import { isCompressed } from './api/input';
import { listen } from './api/http-server';
import { ConfigError, loadCodecServerConfig } from './config';
import { DecryptionError } from './encryption/key-ring';
import { type ProcessPart, runUntilSignalled } from './entry-point';
import { createLogger } from './logger';
import { convertBody, payloadCodecs } from './temporal/payload-codec';

/** The path may have a prefix, such as the namespace. */
const ACTION = /\/(encode|decode)$/;
/** Temporal's UI sends a page of history in one request, of 4 MB at most; parsing an empty object takes 30 times its size. */
const MAX_BODY = '6mb';

/**
 * Encrypts and decrypts payloads for Temporal's UI and CLI, by the protocol of Temporal's remote codecs. Whoever
 * reaches it can decrypt: keep it behind the login of the UI.
 * @throws ConfigError if there are no keys
 */
export async function startCodecServer(
  config: ReturnType<typeof loadCodecServerConfig>,
  log: Logger,
): Promise<ProcessPart & { port: number }> {
  const [codec] = payloadCodecs({ ...config, encryptPayloads: true });
  if (!codec) throw new ConfigError('Invalid configuration:\n  ENCRYPTION_KEYS is missing');
  const app = new Koa();
  app.on('error', (error: Error) => log.warn({ err: error }, 'request failed'));
  app.use(refuseOtherNames(config.codecServerOrigin));
  app.use(allowPage(config.codecServerOrigin));
  app.use(refuseCompressed);
  const onerror = (_: unknown, ctx: Koa.Context) => ctx.throw(400, 'The body is not JSON.');
  app.use(bodyParser({ enableTypes: ['json'], jsonLimit: MAX_BODY, onerror }));
  app.use(async (ctx) => {
    const [, action] = ACTION.exec(ctx.path) ?? [];
    if (ctx.method !== 'POST' || action === undefined) return;
    ctx.body = await convertBody(codec, action as 'encode' | 'decode', ctx.request.body).catch((error: unknown) =>
      ctx.throw(400, error instanceof DecryptionError ? error.message : 'The body has no valid payloads.'),
    );
  });
  const http = await listen(app, config.codecServerPort, config.host, config.http, (error) =>
    log.error({ err: error }, 'codec server error'),
  );
  log.info({ port: http.port }, 'codec server started');
  return { port: http.port, stop: () => http.close(config.shutdownGraceMs) };
}

/** A few compressed bytes can expand to megabytes. */
const refuseCompressed: Koa.Middleware = (ctx, next) =>
  isCompressed(ctx.get('Content-Encoding')) ? ctx.throw(415, 'Send the body uncompressed.') : next();

/**
 * Refuses calls under a name that anyone may own: its owner can point it to this server, whose answers a page of that
 * name could then read (DNS rebinding). Addresses, names without a dot and the name of the UI are answered.
 */
function refuseOtherNames(origin: string | undefined): Koa.Middleware {
  const uiName = origin && new URL(origin).hostname;
  return (ctx, next) => {
    const name = ctx.hostname.toLowerCase();
    const isExpected = isIP(name) !== 0 || (name !== '' && !name.includes('.')) || name === uiName;
    return isExpected ? next() : ctx.throw(403, 'The Host header names another server.');
  };
}

/** Lets the scripts of one page call this server. */
function allowPage(origin: string | undefined): Koa.Middleware {
  return async (ctx, next) => {
    if (origin !== undefined) {
      ctx.set({ 'Access-Control-Allow-Origin': origin, 'Access-Control-Allow-Credentials': 'true', Vary: 'Origin' });
      ctx.set('Access-Control-Allow-Headers', 'Authorization, Content-Type, X-Namespace');
    }
    if (ctx.method === 'OPTIONS') ctx.status = 204;
    else await next();
  };
}

if (require.main === module) {
  void runUntilSignalled(async (started) => {
    const config = loadCodecServerConfig(process.env);
    started(await startCodecServer(config, createLogger(config.logLevel, 'codec-server')));
  });
}
