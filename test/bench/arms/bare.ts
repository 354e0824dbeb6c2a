import { randomBytes, randomUUID } from 'node:crypto';
import path from 'node:path';
import type { WorkflowHandle } from '@temporalio/client';
import { TypedSearchAttributes } from '@temporalio/common';
import type pg from 'pg';
import { createTemporalClient } from '../../../src/temporal/connection';
import { ensureNamespace, ensureSearchAttributes } from '../../../src/temporal/server';
import { orderReferenceKey, orderStatusKey, sellerIdKey } from '../../../workflows/messages';
import { until } from '../../support/until';
import type { Servers } from '../servers';
import { INSERT_ORDER } from './bare-activities';
import { startChild } from './child';
import { createArmDatabase } from './database';
import type { OrderArm } from './order-arm';

const STATUSES = ['PENDING', 'APPROVED', 'SUCCESSFUL'];
const TASK_QUEUE = 'bare';

/** Bare Temporal: a worker with the settings of the service's worker, called by a Temporal client without an API. */
interface Bare {
  startEmpty: () => Promise<WorkflowHandle>;
  allStarted: (count: number) => Promise<void>;
  ordinary: OrderArm;
  stop: () => Promise<void>;
}

export async function startBare(servers: Servers): Promise<Bare> {
  const database = await createArmDatabase(servers, 'bare');
  const namespace = `bare-${randomBytes(6).toString('hex')}`;
  const client = createTemporalClient({ connectionOptions: { address: servers.temporalAddress }, namespace });
  await ensureNamespace(client);
  await until(
    () =>
      ensureSearchAttributes(client).then(
        () => true,
        () => false,
      ),
    'the search attributes exist',
  );
  const worker = await startChild(path.join(__dirname, 'bare-worker.js'), {
    TEMPORAL_ADDRESS: servers.temporalAddress,
    TEMPORAL_NAMESPACE: namespace,
    DATABASE_URL: database.url,
  });
  const start = (type: string, id: string, args: unknown[] = []): Promise<WorkflowHandle> =>
    client.workflow.start(type, {
      ...{ taskQueue: TASK_QUEUE, workflowId: id, args },
      typedSearchAttributes: new TypedSearchAttributes([
        { key: orderStatusKey, value: 'CREATED' },
        { key: sellerIdKey, value: 'seller' },
        { key: orderReferenceKey, value: id },
      ]),
    });
  const count = async (query: string): Promise<number> => (await client.workflow.count(query)).count;
  return servers.track({
    startEmpty: () => start('emptyWorkflow', randomUUID()),
    async allStarted(expected) {
      await until(async () => (await count('')) >= expected, `${expected} workflows exist`, 300_000);
    },
    ordinary: {
      async create(url) {
        const id = await insertOrder(database.db, url);
        await start('ordinaryOrder', id, [id, url]);
        return id;
      },
      async change(orderId, version) {
        await client.workflow.getHandle(orderId).executeUpdate('change', { args: [STATUSES[version - 1]] });
      },
      async stored() {
        const { rows } = await database.db.query<{ orders: number; delivered: number }>(
          `select (select count(*)::int from orders) as orders,
             (select count(*)::int from webhook_event where state = 'delivered') as delivered`,
        );
        return { ...rows[0]!, workflows: await count(`WorkflowType = 'ordinaryOrder'`) };
      },
    },
    async stop() {
      await worker.stop();
      await client.connection.close();
      await database.close();
    },
  });
}

async function insertOrder(db: pg.Pool, url?: string): Promise<string> {
  const id = randomUUID();
  await db.query(INSERT_ORDER, [id, randomUUID(), 123_450, url ?? null]);
  return id;
}
