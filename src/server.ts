import { setTimeout as delay } from 'node:timers/promises';
import type { ClientConnectConfig } from '@temporalio/envconfig';
import type { Logger } from 'pino';
import { createApp } from './api/app';
import { listen } from './api/http-server';
import { createRateLimits } from './api/rate-limit';
import { createCheckout } from './checkout/checkout';
import { type Config, loadConfig } from './config';
import { createPool } from './db/pool';
import { waitForCurrentSchema } from './db/schema-check';
import { createWriteProbe } from './db/write-probe';
import { type Running, runUntilSignalled } from './entry-point';
import { createLogger } from './logger';
import { createLiveOrderReader } from './orders/background/live-order-reader';
import type { OrderDependencies } from './orders/dependencies';
import { createWorkflowDispatcher } from './orders/background/workflow-dispatcher';
import { createTemporalClient, temporalSettings } from './temporal/connection';
import { createOrderWorkflows } from './temporal/order-workflows';
import { checkWebhookUrl } from './webhooks/webhook-url';

/** A notice on every checkout page, by lender. */
const NOTICES = { sandbox: 'Test checkout: no real lender, and no money moves.' };

/** The maximum time that the start waits for the schema check. */
const SCHEMA_CHECK_MS = 1000;

/** Starts the API. It is stateless: any number of processes can run in parallel. */
export async function startServer(
  config: Config,
  temporal: ClientConnectConfig,
  log: Logger,
): Promise<Running & { port: number; schemaChecked: Promise<void> }> {
  const client = createTemporalClient(temporal);
  const onDatabaseError = (error: Error) => log.warn({ err: error }, 'database');
  const db = createPool(config.databaseUrl, config.databasePoolSize, onDatabaseError);
  const writeProbe = createWriteProbe(config.databaseUrl, onDatabaseError);
  const workflows = createOrderWorkflows(client, config);
  const dispatcher = createWorkflowDispatcher(
    { db, workflows, log },
    { inFlight: config.startsInFlight, checkAfterMs: config.sweep.checkAfterMs },
  );
  const deps: OrderDependencies = {
    db,
    workflows,
    dispatcher,
    liveOrders: createLiveOrderReader(workflows, config.queryBudgetMs, (orderId) => dispatcher.check(orderId)),
    rules: {
      maxAmountPence: config.maxAmountPence,
      httpsOnly: config.production,
      checkWebhookUrl: (url) => checkWebhookUrl(url, config.addressPolicy),
    },
    checkoutBaseUrl: config.checkoutBaseUrl,
    expiresAfterMs: config.orderExpiresAfterMs,
    sweepStartAfterMs: config.sweep.startAfterMs,
    log,
  };
  let serving = true;
  const limits = createRateLimits(db, config.rateLimits, log);
  const { lender, applicationRetentionMs } = config.hostedCheckout;
  if (config.production && lender === 'sandbox')
    log.warn('CHECKOUT_LENDER=sandbox: no real lender decides on applications');
  const app = createApp({
    api: config.api,
    deps,
    limits,
    checkout:
      lender === 'none'
        ? undefined
        : createCheckout({ deps, limits, notice: NOTICES[lender], retentionMs: applicationRetentionMs }),
    trustedProxies: config.trustedProxies,
    maxBodyBytes: config.http.maxBodyBytes,
    log,
    responseHmacHeader: config.responseHmacHeader,
    health: { checkDatabase: writeProbe.check, isServing: () => serving },
  });
  const schemaChecked = waitForCurrentSchema(db, (error) => log.warn({ err: error }, 'schema not checked yet'));
  // While Postgres is down the API listens and answers 503.
  await Promise.race([schemaChecked, delay(SCHEMA_CHECK_MS, undefined, { ref: false })]);
  const http = await listen(app, config.port, config.host, {
    ...config.http,
    isBehindProxy: config.trustedProxies > 0,
  });
  log.info({ port: http.port }, 'API started');
  return {
    port: http.port,
    schemaChecked,
    stopsWithinMs: config.shutdownDelayMs + config.shutdownGraceMs,
    async stop() {
      serving = false;
      await http.close(config.shutdownGraceMs, config.shutdownDelayMs);
      await dispatcher.drain();
      await workflows.drain();
      await client.connection.close();
      await Promise.all([db.end(), writeProbe.end()]);
      log.info('API stopped');
    },
  };
}

if (require.main === module) {
  void runUntilSignalled(async (started) => {
    const config = loadConfig(process.env);
    const server = await startServer(config, temporalSettings(), createLogger(config.logLevel, 'api'));
    started(server);
    await server.schemaChecked;
  });
}
