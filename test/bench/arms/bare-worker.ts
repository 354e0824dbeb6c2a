import { DefaultLogger, NativeConnection, Runtime, Worker, bundleWorkflowCode } from '@temporalio/worker';
import pg from 'pg';
import { loadConfig } from '../../../src/config';
import { createBareActivities } from './bare-activities';

/** The worker of the bare arms, with the settings of the service's worker. */
async function run(): Promise<void> {
  const { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace, DATABASE_URL } = process.env;
  const logger = new DefaultLogger('ERROR');
  Runtime.install({ logger });
  const config = loadConfig({ ...process.env, CHECKOUT_BASE_URL: 'https://checkout.example' });
  const db = new pg.Pool({ connectionString: DATABASE_URL, max: config.databasePoolSize });
  const connection = await NativeConnection.connect({ address: address! });
  const options = { connection, namespace: namespace!, activities: createBareActivities(db) };
  const workflowBundle = await bundleWorkflowCode({ workflowsPath: require.resolve('./bare-workflows'), logger });
  const workers = await Promise.all([
    Worker.create({
      ...options,
      taskQueue: 'bare',
      workflowBundle,
      maxCachedWorkflows: config.maxCachedWorkflows,
      stickyQueueScheduleToStartTimeout: '5 seconds',
    }),
    Worker.create({
      ...options,
      taskQueue: 'bare-webhooks',
      maxConcurrentActivityTaskExecutions: config.webhookConcurrency.total,
    }),
  ]);
  const running = Promise.all(workers.map((worker) => worker.run()));
  console.log('{}');
  process.on('SIGTERM', () => process.exit(0));
  process.on('disconnect', () => process.exit(0));
  await running;
}

void run().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
