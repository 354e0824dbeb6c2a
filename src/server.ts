import './telemetry/start-tracing';
import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { ClientConnectConfig } from '@temporalio/envconfig';
import type { Logger } from 'pino';
import { createApp } from './api/app';
import { listen } from './api/http-server';
import { createRateLimits } from './api/rate-limit';
import { createCheckout } from './checkout/checkout';
import type { ProviderDetails, ProviderDetailsOf } from './checkout/provider-details';
import { SAMPLE_DOCUMENTS } from './checkout/sample-documents';
import { type Config, loadConfig } from './config';
import { openDatabase } from './db/open-database';
import type { Db } from './db/pool';
import { waitForCurrentSchema } from './db/schema-check';
import { createKeyRing } from './encryption/key-ring';
import { type ProcessPart, runUntilSignalled } from './entry-point';
import type { Lender } from './checkout/lender/lender';
import { createLogger } from './logger';
import type { OrderDependencies } from './orders/dependencies';
import { createWorkflowReader } from './orders/read-workflow';
import { createOrderStarter } from './orders/start-orders';
import { guardPayments } from './checkout/payments/guard-payments';
import type { PaymentProvider, PaymentProviders } from './checkout/payments/payment-provider';
import { lendersOf, paymentProvidersOf } from './providers';
import { createTemporalClient, temporalSettings } from './temporal/connection';
import { payloadCodecs } from './temporal/payload-codec';
import type { GaugeSources } from './telemetry/gauges';
import { startMetrics } from './telemetry/metrics-server';
import { observePayments } from './checkout/payments/observe-payments';
import { tracing } from './telemetry/tracing';
import { createOrderWorkflows } from './temporal/order-workflows';
import { checkWebhookUrl } from './webhooks/webhook-url';

/** The maximum time that the start waits for the schema check. */
const SCHEMA_CHECK_MS = 1000;

/** Starts the API. It is stateless: any number of processes can run in parallel. */
export async function startServer(
  config: Config,
  temporal: ClientConnectConfig,
  log: Logger,
): Promise<ProcessPart & GaugeSources & { port: number; schemaChecked: Promise<void> }> {
  const client = createTemporalClient(temporal, payloadCodecs(config));
  const { db, insertDb, checkDatabase, end: endDatabase } = openDatabase(config, log);
  const lenders = lendersOf(config);
  const deps = createOrderDependencies(config, { client, db, insertDb, lenders, log });
  const { workflows, starter, payments } = deps;
  let hasStarted = false;
  let isStopping = false;
  const limits = createRateLimits(db, config.rateLimits, log);
  const { applicationRetentionMs } = config.hostedCheckout;
  const { sandbox: lender } = lenders;
  if (config.production && lender && !lenders.live)
    log.warn('CHECKOUT_LENDER=sandbox: the hosted checkout serves sandbox accounts only');
  const app = createApp({
    api: config.api,
    deps,
    limits,
    checkout:
      lender &&
      createCheckout({
        deps,
        limits,
        retentionMs: applicationRetentionMs,
        providerDetailsOf: createProviderDetails(config, { sandbox: lender, live: lenders.live }, payments),
        sandboxBank: payments.sandbox,
      }),
    trustedProxies: config.trustedProxies,
    maxBodyBytes: config.http.maxBodyBytes,
    log,
    responseHmacHeader: config.responseHmacHeader,
    health: { checkDatabase, isServing: () => hasStarted && !isStopping },
    trace: tracing()?.traceRequests,
  });
  const schemaChecked = waitForCurrentSchema(db, (error) => log.warn({ err: error }, 'schema not checked yet'));
  // A load balancer leaves out a process that has never reached Postgres: its settings may be wrong.
  void schemaChecked.then(
    () => (hasStarted = true),
    () => undefined,
  );
  // While Postgres is down the API listens and answers 503.
  await Promise.race([schemaChecked, delay(SCHEMA_CHECK_MS, undefined, { ref: false })]);
  const http = await listen(app, config.port, config.host, config.http, (error) =>
    log.error({ err: error }, 'API server error'),
  );
  log.info({ port: http.port }, 'API started');
  return {
    port: http.port,
    db,
    checkDatabase,
    schemaChecked,
    stopsWithinMs: config.shutdownDelayMs + config.shutdownGraceMs,
    async stop() {
      isStopping = true;
      await http.close(config.shutdownGraceMs, config.shutdownDelayMs);
      await starter.drain();
      await workflows.drain();
      await client.connection.close();
      await endDatabase();
      log.info('API stopped');
    },
  };
}

function createOrderDependencies(
  config: Config,
  {
    client,
    db,
    insertDb,
    lenders,
    log,
  }: { client: Client; db: Db; insertDb: Db; lenders: ReturnType<typeof lendersOf>; log: Logger },
) {
  const workflows = createOrderWorkflows(client, config);
  return {
    db,
    insertDb,
    keys: createKeyRing(config.encryptionKeys),
    workflows,
    starter: createOrderStarter({ db, workflows, log }),
    workflowReader: createWorkflowReader(workflows, config.readBudgetMs),
    rules: {
      maxAmountPence: config.maxAmountPence,
      httpsOnly: config.production,
      checkWebhookUrl: (url) => checkWebhookUrl(url, config.addressPolicy),
    },
    payments: observePayments(guardPayments(paymentProvidersOf(config, db))),
    checkoutBaseUrl: config.checkoutBaseUrl,
    hasLiveLender: lenders.live !== undefined,
    expiresAfterMs: config.orderExpiresAfterMs,
    log,
  } satisfies OrderDependencies;
}

function createProviderDetails(
  { checkoutBaseUrl, hostedCheckout }: Config,
  lenders: { sandbox: Lender; live: Lender | undefined },
  payments: PaymentProviders,
): ProviderDetailsOf {
  const { lenderName, privacyUrl, termsUrl, creditAgreementUrl } = hostedCheckout;
  const samples = `${checkoutBaseUrl}${SAMPLE_DOCUMENTS}`;
  const create = (lender: Lender, provider: PaymentProvider | undefined): ProviderDetails => ({
    lenderName,
    banks: provider?.banks ?? [],
    quote: (order, today) => lender.quote(order, today),
    reviewTime: lender.reviewTime,
    privacyUrl: privacyUrl ?? `${samples}/privacy/`,
    termsUrl: termsUrl ?? `${samples}/terms/`,
    creditAgreementUrl: creditAgreementUrl ?? `${samples}/credit-agreement/`,
  });
  const sandbox = create(lenders.sandbox, payments.sandbox);
  const live = lenders.live && create(lenders.live, payments.live);
  // Without a live lender, no page of a live order needs them.
  return (order) => (order.sandbox ? sandbox : (live ?? sandbox));
}

if (require.main === module) {
  void runUntilSignalled(async (started) => {
    const config = loadConfig(process.env);
    const log = createLogger(config.logLevel, 'api');
    const traces = tracing();
    if (traces) started(traces);
    const server = await startServer(config, temporalSettings(), log);
    started(server);
    if (config.metricsAddress) started(await startMetrics(config.metricsAddress, server, log));
    await server.schemaChecked;
  });
}
