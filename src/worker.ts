import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { ClientConnectConfig } from '@temporalio/envconfig';
import { type WorkerOptions, NativeConnection, Worker } from '@temporalio/worker';
import Koa from 'koa';
import type { Logger } from 'pino';
import { createActivities } from '../activities';
import { LENDER_TASK_QUEUE, ORDER_TASK_QUEUE, WEBHOOK_TASK_QUEUE } from '../workflows/messages';
import { healthRoutes } from './api/health-routes';
import { type HttpServer, listen } from './api/http-server';
import { type Config, loadConfig } from './config';
import { type Db, createPool } from './db/pool';
import { waitForCurrentSchema } from './db/schema-check';
import { type Running, runUntilSignalled } from './entry-point';
import { createLogger } from './logger';
import { startPaymentReturns } from './orders/background/payment-returns';
import { startSweep } from './orders/background/sweep';
import { lenderOf, paymentsOf } from './sandbox';
import { WORKFLOW_BUNDLE } from './temporal/workflow-bundle';
import { createTemporalClient, temporalSettings } from './temporal/connection';
import { createOrderWorkflows } from './temporal/order-workflows';
import { installTemporalRuntime } from './temporal/runtime';
import { SEARCH_ATTRIBUTES, ensureSearchAttributes } from './temporal/set-up';
import { createIsolatedSender } from './webhooks/isolated-sender';
import type { WebhookSender } from './webhooks/send';

const RECONNECT_MS = 2000;
/** The maximum number of concurrent calls to the lender. */
const LENDER_CONCURRENCY = 50;
/** Longer than a webhook attempt, so that an attempt that runs at the shutdown is still recorded. */
const FORCE_AFTER_GRACE_MS = 20_000;

/** Runs workflows, activities and the sweep. Any number of workers can run in parallel. */
export async function startWorker(
  config: Config,
  temporal: ClientConnectConfig,
  log: Logger,
): Promise<Running & { healthPort: number; failed: Promise<never> }> {
  const client = createTemporalClient(temporal);
  const db = createPool(config.databaseUrl, config.databasePoolSize, (error) => log.warn({ err: error }, 'database'));
  const sender = createIsolatedSender({
    policy: config.addressPolicy,
    timeoutMs: config.webhookTimeoutMs,
    concurrency: config.webhookConcurrency.total,
    onError: (error) => log.error({ err: error }, 'webhook sender'),
  });
  let isServing = (): boolean => false;
  const health = await serveHealth(config, db, () => isServing(), log);
  await waitForCurrentSchema(db, (error) => log.warn({ err: error }, 'schema not checked yet'));
  const connection = await connect(temporal, client, log);
  const workers = await createWorkers(config, { connection, namespace: client.options.namespace }, db, sender, log);
  const run = Promise.all(workers.map((worker) => worker.run()));
  isServing = () => workers.every((worker) => worker.getState() === 'RUNNING');
  const stopSweep = startSweep({
    db,
    workflows: createOrderWorkflows(client, config),
    log,
    intervalMs: config.sweep.intervalMs,
    checkAfterMs: config.sweep.checkAfterMs,
    idempotencyKeyDays: config.idempotencyKeyDays,
    applicationRetentionMs: config.hostedCheckout.applicationRetentionMs,
  });
  const payments = paymentsOf(config, db);
  const stopPaymentReturns =
    payments && startPaymentReturns({ db, payments, log, intervalMs: config.sweep.intervalMs });
  log.info({ health_port: health.port }, 'worker started');
  return {
    healthPort: health.port,
    // Rejects if a worker fails, and never resolves.
    failed: run.then(() => new Promise<never>(() => undefined)),
    async stop() {
      await Promise.all([stopSweep(), stopPaymentReturns?.()]);
      for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
      // `failed` reports a failure of the run.
      await run.catch(() => undefined);
      await sender.close();
      await connection.close();
      await client.connection.close();
      await health.close(0);
      await db.end();
      log.info('worker stopped');
    },
  };
}

/** Waits until Temporal is available. */
async function connect(temporal: ClientConnectConfig, client: Client, log: Logger): Promise<NativeConnection> {
  for (;;) {
    try {
      const connection = await NativeConnection.connect(temporal.connectionOptions);
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

/** One worker for workflows and saves, one for webhook attempts, one for calls to the lender. */
function createWorkers(
  config: Config,
  target: Pick<WorkerOptions, 'namespace'> & { connection: NativeConnection },
  db: Db,
  sender: WebhookSender,
  log: Logger,
): Promise<Worker[]> {
  const options = {
    ...target,
    activities: createActivities({
      db,
      sender,
      schedule: config.webhookSchedule,
      attemptsPerSeller: config.webhookConcurrency.perSeller,
      log,
      lender: lenderOf(config),
      payments: paymentsOf(config, db),
      checkoutBaseUrl: config.checkoutBaseUrl,
      checkAfterMs: config.sweep.checkAfterMs,
    }),
    shutdownGraceTime: config.shutdownGraceMs,
    shutdownForceTime: config.shutdownGraceMs + FORCE_AFTER_GRACE_MS,
  };
  return Promise.all([
    Worker.create({
      ...options,
      taskQueue: ORDER_TASK_QUEUE,
      workflowBundle: { codePath: WORKFLOW_BUNDLE },
      maxCachedWorkflows: config.maxCachedWorkflows,
      // If a worker dies, another worker takes over its workflows after this.
      stickyQueueScheduleToStartTimeout: '5 seconds',
    }),
    Worker.create({
      ...options,
      taskQueue: WEBHOOK_TASK_QUEUE,
      maxConcurrentActivityTaskExecutions: config.webhookConcurrency.total,
    }),
    Worker.create({
      ...options,
      taskQueue: LENDER_TASK_QUEUE,
      maxConcurrentActivityTaskExecutions: LENDER_CONCURRENCY,
    }),
  ]);
}

function serveHealth(config: Config, db: Db, isServing: () => boolean, log: Logger): Promise<HttpServer> {
  const app = new Koa();
  app.on('error', (error: Error) => log.debug({ err: error }, 'response not sent'));
  app.use(healthRoutes(db, isServing).routes());
  return listen(app, config.workerHealthPort, config.host, config.http);
}

if (require.main === module) {
  void runUntilSignalled(async (started) => {
    const config = loadConfig(process.env);
    // libuv resolves host names on half of these threads (2 by default): unresolvable names of one seller would block all
    // other sellers.
    process.env.UV_THREADPOOL_SIZE ??= String(Math.min(2 * config.webhookConcurrency.total + 4, 1024));
    const log = createLogger(config.logLevel, 'worker');
    installTemporalRuntime(log, config.metricsAddress);
    const worker = await startWorker(config, temporalSettings(), log);
    started(worker);
    await worker.failed;
  });
}
