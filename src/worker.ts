import { tracing } from './telemetry/tracing';
import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { ClientConnectConfig } from '@temporalio/envconfig';
import { type WorkerOptions, NativeConnection, Worker } from '@temporalio/worker';
import Koa from 'koa';
import type { Logger } from 'pino';
import { type CheckoutActivities, createCheckoutActivities } from './checkout/temporal/checkout-activities';
import { type MailActivities, createMailActivities } from './checkout/temporal/mail-activities';
import { createNoticeActivities } from '../activities/notice-activities';
import { createOrderActivities } from '../activities/order-activities';
import { createWebhookActivities } from '../activities/webhook-activities';
import { CHECKOUT_TASK_QUEUE } from './checkout/temporal/checkout-messages';
import { ORDER_TASK_QUEUE, WEBHOOK_TASK_QUEUE } from '../workflows/messages';
import { type HealthChecks, healthRoutes } from './api/health-routes';
import { type HttpServer, listen } from './api/http-server';
import { findBranding } from './checkout/db/branding';
import { oldCheckoutDataOf } from './checkout/db/old-checkout-data';
import { CHECKOUT_BACKLOG, startCheckoutJobs } from './checkout/temporal/background-jobs';
import { createCheckoutWorkflows } from './checkout/temporal/checkout-workflow-client';
import { guardLenders, guardSettlements } from './checkout/lender/guard-lenders';
import { guardPayments } from './checkout/payments/guard-payments';
import { createOrderCore } from './checkout/order-core';
import { readCheckout } from './checkout/use-cases/read-checkout';
import { createProviderDetails } from './checkout/pages/provider-details';
import { type Config, loadConfig } from './config';
import type { OldData } from './db/old-data';
import { type Db, openDatabase } from './db/pool';
import { waitForCurrentSchema } from './db/migrations';
import { oldDataOf } from './db/retention';
import { createServiceSecret } from './db/secrets';
import { createKeyRing } from './encryption/key-ring';
import { type ProcessPart, runUntilSignalled } from './entry-point';
import { createLogger } from './logger';
import { type MailAccounts, type SendMail, createMailer, mailAccountsOf } from './mail/mailer';
import { startBackgroundJobs } from './orders/background/background-jobs';
import { requestResend } from './orders/webhooks';
import { lendersOf, paymentProvidersOf } from './providers';
import { WORKFLOW_BUNDLES } from './temporal/workflow-bundle';
import { receiveRequestContext } from './telemetry/current-request-context';
import type { GaugeSources } from './telemetry/gauges';
import { freeLoopbackAddress, startMetrics } from './telemetry/metrics-server';
import { createTemporalCalls } from './temporal/calls';
import { createTemporalClient, nativeProxy, temporalSettings } from './temporal/connection';
import { payloadCodecs } from './temporal/payload-codec';
import { type OrderWorkflows, createOrderWorkflows } from './temporal/order-workflow-client';
import { installTemporalRuntime } from './temporal/runtime';
import { SEARCH_ATTRIBUTES, ensureSearchAttributes } from './temporal/server';
import { type WebhookSender, createWebhookSender } from './webhooks/send';

const RECONNECT_MS = 2000;
/** The maximum number of concurrent reads and writes of orders. */
const SAVE_CONCURRENCY = 100;
/** The maximum number of concurrent calls to the lender or the bank. */
const CHECKOUT_CONCURRENCY = 50;
/** Longer than a webhook attempt, so that an attempt that runs at the shutdown is still recorded. */
const FORCE_AFTER_GRACE_MS = 20_000;

/** Runs workflows, activities and background jobs. Any number of workers can run in parallel. */
export async function startWorker(
  config: Config,
  temporal: ClientConnectConfig,
  log: Logger,
): Promise<ProcessPart & GaugeSources & { healthPort: number; failed: Promise<never> }> {
  const client = createTemporalClient(temporal, payloadCodecs(config));
  const { db, checkDatabase, end: endDatabase } = openDatabase(config, log);
  const sender = createWebhookSender({ policy: config.addressPolicy, timeoutMs: config.webhookTimeoutMs });
  let isServing = (): boolean => false;
  const health = await serveHealth(config, { checkDatabase, isServing: () => isServing() }, log);
  await waitForCurrentSchema(db, (error) => log.warn({ err: error }, 'schema not checked yet'));
  const connection = await connect(temporal, client, log);
  const calls = createTemporalCalls(client);
  const workflows = createOrderWorkflows(client, config, calls);
  const queues = config.workerQueues.filter((queue) => queue !== 'checkout' || hasCheckout(config));
  const mails = mailAccountsOf(config);
  // One mailer for both queues: it limits the mails of this process.
  const parts = { db, sender, workflows, log, mails, sendMail: createMailer(config, db, log) };
  const target = { connection, namespace: client.options.namespace };
  const workers = await Promise.all(queues.map((queue) => createTaskWorker(queue, config, target, parts)));
  const runs = workers.map((worker) => worker.run());
  let isStopping = false;
  const failed = new Promise<never>((_, reject) => {
    for (const run of runs)
      run.catch((error: unknown) => {
        // After the last task, the SDK sometimes fails with "Worker still in use".
        if (isStopping) log.warn({ err: error }, 'a worker stopped with an error');
        else reject(error instanceof Error ? error : new Error(String(error)));
      });
  });
  isServing = () => workers.every((worker) => worker.getState() === 'RUNNING');
  const { background } = config;
  const stopOrderJobs = queues.includes('orders')
    ? startBackgroundJobs({ ...background, db, workflows, log, mails, oldData: oldData(config) })
    : () => Promise.resolve();
  const stopCheckoutJobs = queues.includes('checkout')
    ? startCheckoutJobs({
        ...{ db, log, workflows: createCheckoutWorkflows(client, config, calls) },
        ...{ payments: paymentProvidersOf(config, db), mails },
        intervalMs: 4 * background.intervalMs,
      })
    : () => Promise.resolve();
  log.info({ health_port: health.port }, 'worker started');
  return {
    healthPort: health.port,
    db,
    checkDatabase,
    backlogs: hasCheckout(config) ? [CHECKOUT_BACKLOG] : [],
    stopsWithinMs: config.shutdownGraceMs + FORCE_AFTER_GRACE_MS,
    // Rejects if a worker fails before it is stopped, and never resolves.
    failed,
    async stop() {
      isStopping = true;
      // Shut down the workers first, so that other processes get their tasks. The process is no longer ready.
      for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
      const haveEnded = Promise.all([stopOrderJobs(), stopCheckoutJobs(), Promise.allSettled(runs)]).then(() => true);
      const ended = new AbortController();
      const idle = untilIdle(workers, ended.signal).then(() => false);
      const hasEnded = await Promise.race([haveEnded, idle]);
      // Its timer would keep the process for up to a second.
      ended.abort();
      // A call that retries on a closed connection would end the process.
      const closed = workflows.drain().then(() => client.connection.close());
      if (hasEnded) await Promise.all([connection.close(), closed]);
      else log.warn('Temporal does not answer: the worker has no task and does not wait for it');
      await health.close(0);
      await endDatabase();
      log.info('worker stopped');
    },
  };
}

/**
 * Waits until no worker has had a task for a second, or the signal aborts. While Temporal is silent, the workers' own end
 * takes half a minute.
 */
async function untilIdle(workers: readonly Worker[], signal: AbortSignal): Promise<void> {
  for (let idleMs = 0; idleMs < 1000 && !signal.aborted; idleMs += 100) {
    await delay(100, undefined, { signal }).catch(() => undefined);
    const tasks = workers.map((worker) => worker.getStatus());
    if (tasks.some((one) => one.numInFlightActivities + one.numInFlightWorkflowActivations > 0)) idleMs = 0;
  }
}

/** Waits until Temporal is available. */
async function connect(temporal: ClientConnectConfig, client: Client, log: Logger): Promise<NativeConnection> {
  for (;;) {
    try {
      const connection = await NativeConnection.connect({ ...temporal.connectionOptions, ...nativeProxy() });
      await ensureSearchAttributes(client).catch((error: unknown) =>
        log.warn(
          { reason: String(error) },
          `search attributes could not be created: create ${SEARCH_ATTRIBUTES.join(', ')} (Keyword)`,
        ),
      );
      return connection;
    } catch (error) {
      log.warn({ reason: String(error) }, 'Temporal is not available yet');
      await delay(RECONNECT_MS);
    }
  }
}

const hasCheckout = (config: Config): boolean => lendersOf(config).sandbox !== undefined;

/** The checkout's data goes even if the hosted checkout has been turned off. */
const oldData = ({ retention, hostedCheckout }: Config): OldData[] => [
  ...oldDataOf(retention),
  ...oldCheckoutDataOf({ ...retention, ...hostedCheckout }),
];

interface Parts {
  db: Db;
  sender: WebhookSender;
  workflows: OrderWorkflows;
  log: Logger;
  mails: MailAccounts;
  sendMail: SendMail;
}

function createTaskWorker(
  queue: string,
  config: Config,
  target: Pick<WorkerOptions, 'connection' | 'namespace'>,
  parts: Parts,
): Promise<Worker> {
  const { db, sender, workflows, log, mails, sendMail } = parts;
  const optionsOf = {
    orders: (): WorkerOptions => ({
      taskQueue: ORDER_TASK_QUEUE,
      workflowBundle: { codePath: WORKFLOW_BUNDLES.orders },
      activities: {
        ...createOrderActivities({
          ...{ db, checkoutBaseUrl: config.checkoutBaseUrl, log },
          requestResend: (webhook) => requestResend({ db, workflows }, webhook),
        }),
        ...createNoticeActivities({
          ...{ db, mails, sendMail },
          contactOf: async (sellerId) => (await findBranding(db, sellerId)).contactEmail,
          docsUrl: `${config.api.publicUrl ?? config.checkoutBaseUrl}/docs/webhooks/`,
        }),
      },
      maxCachedWorkflows: config.maxCachedWorkflows,
      maxConcurrentActivityTaskExecutions: SAVE_CONCURRENCY,
      // If a worker dies, another worker takes over its workflows after this.
      stickyQueueScheduleToStartTimeout: '5 seconds',
    }),
    webhooks: (): WorkerOptions => ({
      taskQueue: WEBHOOK_TASK_QUEUE,
      activities: createWebhookActivities({
        ...{ db, log, breaker: config.webhookBreaker, schedule: config.webhookSchedule },
        keys: createKeyRing(config.encryptionKeys),
        sender: tracing?.traceAttempts(sender) ?? sender,
        attemptsPerSeller: config.webhookConcurrency.perSeller,
      }),
      maxConcurrentActivityTaskExecutions: config.webhookConcurrency.total,
    }),
    checkout: (): WorkerOptions => ({
      taskQueue: CHECKOUT_TASK_QUEUE,
      workflowBundle: { codePath: WORKFLOW_BUNDLES.checkout },
      activities: checkoutActivities(config, parts),
      maxConcurrentActivityTaskExecutions: CHECKOUT_CONCURRENCY,
    }),
  };
  return Worker.create({
    ...target,
    interceptors: { activity: [receiveRequestContext, ...(tracing ? [tracing.traceActivities] : [])] },
    dataConverter: { payloadCodecs: payloadCodecs(config) },
    shutdownGraceTime: config.shutdownGraceMs,
    shutdownForceTime: config.shutdownGraceMs + FORCE_AFTER_GRACE_MS,
    ...optionsOf[queue as keyof typeof optionsOf](),
  });
}

function checkoutActivities(
  config: Config,
  { db, workflows, log, mails, sendMail }: Parts,
): CheckoutActivities & MailActivities {
  const lenders = lendersOf(config);
  const payments = guardPayments(paymentProvidersOf(config, db), { log });
  const core = createOrderCore({ db, workflows });
  const { checkoutBaseUrl } = config;
  const { sandbox, live } = lenders;
  if (!sandbox) throw new Error('there is no hosted checkout');
  return {
    ...createCheckoutActivities({
      ...{ db, payments, core, checkoutBaseUrl },
      callLender: guardLenders(lenders, { log }),
      lenderSettlements: guardSettlements(lenders, log),
    }),
    ...createMailActivities({
      ...{ db, core, checkoutBaseUrl, mails, sendMail },
      readCheckout: (link) => readCheckout({ db, core, payments, hasLiveLender: live !== undefined }, link),
      providerDetailsOf: createProviderDetails(
        checkoutBaseUrl,
        payments,
        { sandbox, live },
        config.hostedCheckout,
        log,
      ),
      readSecret: createServiceSecret(db, createKeyRing(config.encryptionKeys), 'checkout'),
    }),
  };
}

function serveHealth(config: Config, checks: HealthChecks, log: Logger): Promise<HttpServer> {
  const app = new Koa();
  app.on('error', (error: Error) => log.debug({ err: error }, 'response not sent'));
  app.use(healthRoutes(checks).routes());
  const onError = (error: Error) => log.error({ err: error }, 'health server error');
  return listen(app, config.workerHealthPort, config.host, config.http, onError);
}

if (require.main === module) {
  void runUntilSignalled(async (started) => {
    const config = loadConfig(process.env);
    // libuv resolves host names on half of these threads (2 by default): unresolvable names of one seller would block
    // all other sellers.
    process.env.UV_THREADPOOL_SIZE ??= String(Math.min(2 * config.webhookConcurrency.total + 4, 1024));
    const log = createLogger(config.logLevel, 'worker');
    if (tracing) started(tracing);
    const sdkMetrics = config.metricsAddress && (await freeLoopbackAddress());
    installTemporalRuntime(log, sdkMetrics);
    const worker = await startWorker(config, temporalSettings(), log);
    started(worker);
    if (config.metricsAddress) started(await startMetrics(config.metricsAddress, worker, log, sdkMetrics));
    await worker.failed;
  });
}
