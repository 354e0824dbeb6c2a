import { tracing } from './telemetry/tracing';
import { setTimeout as delay } from 'node:timers/promises';
import type { ClientConnectConfig } from '@temporalio/envconfig';
import type { Logger } from 'pino';
import { createApp } from './api/app';
import { listen } from './api/http-server';
import { limitInFlight } from './api/in-flight';
import { createRateLimits } from './api/rate-limit';
import { CHECKOUT_BACKLOG } from './checkout/temporal/background-jobs';
import { createCheckout } from './checkout/http/checkout';
import { createCheckoutWorkflows } from './checkout/temporal/checkout-workflow-client';
import { guardPayments } from './checkout/payments/guard-payments';
import { checkoutObstacle } from './checkout/use-cases/read-checkout';
import { createOrderCore } from './checkout/order-core';
import { quoteRepayments } from './checkout/use-cases/quote-repayments';
import { type Config, loadConfig } from './config';
import { openDatabase } from './db/pool';
import { waitForCurrentSchema } from './db/migrations';
import { createServiceSecret } from './db/secrets';
import { createKeyRing } from './encryption/key-ring';
import { type ProcessPart, runUntilSignalled } from './entry-point';
import { createLogger } from './logger';
import { mailAccountsOf } from './mail/mailer';
import type { OrderDependencies } from './orders/dependencies';
import { createWorkflowReader } from './orders/read-order';
import { createQuotas } from './orders/quotas';
import { createOrderStarter } from './orders/start-orders';
import { lendersOf, paymentProvidersOf } from './providers';
import { createTemporalCalls } from './temporal/calls';
import { createTemporalClient, temporalSettings } from './temporal/connection';
import { payloadCodecs } from './temporal/payload-codec';
import type { GaugeSources } from './telemetry/gauges';
import { startMetrics } from './telemetry/metrics-server';
import { createOrderWorkflows } from './temporal/order-workflow-client';
import { toPortalUrl } from './orders/portal-sessions';
import { waitingFor } from './checkout/db/waiting-for';
import { createPortal } from './portal/portal';
import { checkWebhookUrl } from './webhooks/address-guard';

/** The maximum time that the start waits for the schema check. */
const SCHEMA_CHECK_MS = 1000;

/** Requests of the seller's page that run at the same time for one seller; further ones wait. */
const PORTAL_AT_ONCE = 4;

/** For orders of the hosted checkout. */
const DEFAULT_EXPIRY_MS = 86_400_000;

/** Starts the API. It is stateless: any number of processes can run in parallel. */
export async function startServer(
  config: Config,
  temporal: ClientConnectConfig,
  log: Logger,
): Promise<ProcessPart & GaugeSources & { port: number; schemaChecked: Promise<void> }> {
  const client = createTemporalClient(temporal, payloadCodecs(config));
  const { db, insertDb, checkDatabase, end: endDatabase } = openDatabase(config, log);
  const calls = createTemporalCalls(client);
  const workflows = createOrderWorkflows(client, config, calls);
  const keys = createKeyRing(config.encryptionKeys);
  const starter = createOrderStarter(db, workflows, log);
  const quotas = createQuotas(config.quotas, db, log);
  const lenders = lendersOf(config);
  const { sandbox } = lenders;
  const payments = guardPayments(paymentProvidersOf(config, db), { log });
  const hasLiveLender = lenders.live !== undefined;
  const providers = { payments, hasLiveLender, settlesLater: lenders.live?.settlementOf !== undefined };
  const deps: OrderDependencies = {
    ...{ db, insertDb, keys, workflows, starter, quotas, log },
    readWorkflow: createWorkflowReader(workflows, config.readBudgetMs),
    rules: {
      maxAmountPence: config.maxAmountPence,
      httpsOnly: config.production,
      checkWebhookUrl: (url) => checkWebhookUrl(url, config.addressPolicy),
    },
    breaker: config.webhookBreaker,
    checkoutBaseUrl: config.checkoutBaseUrl,
    portalUrl: toPortalUrl(config.api.publicUrl ?? config.checkoutBaseUrl),
    // A customer who leaves the hosted checkout, as after a decline, must not keep the order open for ever.
    expiresAfterMs: config.orderExpiresAfterMs ?? (config.hostedCheckout.enabled ? DEFAULT_EXPIRY_MS : undefined),
    checkoutObstacle: (order) => (sandbox ? checkoutObstacle(providers, order) : undefined),
    repaymentExample: (sellerId, amountPence) => quoteRepayments({ db, lenders, log }, sellerId, amountPence),
  };
  let hasStarted = false;
  let isStopping = false;
  const limits = createRateLimits(config.rateLimits);
  if (config.production && sandbox && !lenders.live)
    log.warn('HOSTED_CHECKOUT=true: the hosted checkout serves sandbox accounts only');
  const app = createApp({
    api: config.api,
    deps,
    limits,
    checkout:
      sandbox &&
      createCheckout({
        deps: {
          core: createOrderCore({ db, workflows }),
          workflows: createCheckoutWorkflows(client, config, calls),
          checkoutBaseUrl: config.checkoutBaseUrl,
          ...providers,
          db,
          log,
        },
        limits,
        readSecret: createServiceSecret(db, keys, 'checkout'),
        settings: config.hostedCheckout,
        lenders: { sandbox, live: lenders.live },
        mails: mailAccountsOf(config),
        sandboxBank: payments.sandbox,
      }),
    portal: createPortal({
      ...{ deps, limits, waitingFor: (ids, format) => waitingFor(db, ids, format) },
      limitInFlight: limitInFlight(PORTAL_AT_ONCE),
      readSecret: createServiceSecret(db, keys, 'portal'),
    }),
    trustedProxies: config.trustedProxies,
    maxBodyBytes: config.http.maxBodyBytes,
    log,
    responseHmacHeader: config.responseHmacHeader,
    health: { checkDatabase, isServing: () => hasStarted && !isStopping },
    trace: tracing?.traceRequests,
  });
  const schemaChecked = waitForCurrentSchema(db, (error) => log.warn({ err: error }, 'schema not checked yet'));
  // A load balancer leaves out a process that has never reached Postgres: its settings may be wrong.
  void schemaChecked.then(
    () => (hasStarted = true),
    () => undefined,
  );
  // While Postgres is down the API listens and answers 503.
  await Promise.race([schemaChecked, delay(SCHEMA_CHECK_MS)]);
  const http = await listen(app, config.port, config.host, config.http, (error) =>
    log.error({ err: error }, 'API server error'),
  );
  log.info({ port: http.port }, 'API started');
  return {
    port: http.port,
    db,
    checkDatabase,
    backlogs: sandbox ? [CHECKOUT_BACKLOG] : [],
    schemaChecked,
    stopsWithinMs: config.shutdownDelayMs + config.shutdownGraceMs,
    async stop() {
      isStopping = true;
      await http.close(config.shutdownGraceMs, config.shutdownDelayMs);
      await starter.drain();
      await workflows.drain();
      await quotas.stop();
      await client.connection.close();
      await endDatabase();
      log.info('API stopped');
    },
  };
}

if (require.main === module) {
  void runUntilSignalled(async (started) => {
    const config = loadConfig(process.env);
    const log = createLogger(config.logLevel, 'api');
    if (tracing) started(tracing);
    const server = await startServer(config, temporalSettings(), log);
    started(server);
    if (config.metricsAddress) started(await startMetrics(config.metricsAddress, server, log));
    await server.schemaChecked;
  });
}
