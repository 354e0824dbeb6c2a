import {
  condition,
  defineQuery,
  defineUpdate,
  proxyActivities,
  proxyLocalActivities,
  setHandler,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import { orderStatusKey } from '../../../workflows/messages';
import type { BareActivities } from './bare-activities';

export const stateQuery = defineQuery<number>('state');
export const emptyUpdate = defineUpdate<number>('empty');
export const changeUpdate = defineUpdate<number, [status: string]>('change');

/** The queue of the webhook activities of the ordinary shape. */
const WEBHOOK_QUEUE = 'bare-webhooks';
const CHANGES = 3;

const ordinary = proxyActivities<BareActivities>({ startToCloseTimeout: '10 seconds' });
const onOwnQueue = proxyActivities<BareActivities>({ startToCloseTimeout: '40 seconds', taskQueue: WEBHOOK_QUEUE });
const onSameQueue = proxyActivities<BareActivities>({ startToCloseTimeout: '40 seconds' });
const local = proxyLocalActivities<BareActivities>({
  startToCloseTimeout: '10 seconds',
  localRetryThreshold: '300 milliseconds',
});

/** Answers a query and an update, and does nothing else. */
export async function emptyWorkflow(): Promise<void> {
  setHandler(stateQuery, () => 0);
  setHandler(emptyUpdate, () => 0);
  await condition(() => false);
}

/** Each update runs one activity that saves a change. */
export async function savingWorkflow(orderId: string): Promise<void> {
  let version = 0;
  setHandler(stateQuery, () => version);
  setHandler(changeUpdate, async (status) => {
    version += 1;
    await ordinary.save(orderId, status, version);
    return version;
  });
  await condition(() => false);
}

/** The order in its ordinary shape: an activity saves, another one on its own queue sends. */
export const ordinaryOrder = (orderId: string, url: string): Promise<void> =>
  order(orderId, url, ordinary.save, onOwnQueue.send);

/** The order in its lean shape: a local activity saves, and the webhook is sent on the workflow's queue. */
export const leanOrder = (orderId: string, url: string): Promise<void> =>
  order(orderId, url, local.save, onSameQueue.send);

async function order(
  orderId: string,
  url: string,
  save: BareActivities['save'],
  send: BareActivities['send'],
): Promise<void> {
  let version = 0;
  const toSend: number[] = [];
  setHandler(stateQuery, () => version);
  setHandler(changeUpdate, async (status) => {
    version += 1;
    await save(orderId, status, version);
    toSend.push(version);
    upsertSearchAttributes([{ key: orderStatusKey, value: status }]);
    return version;
  });
  for (let sent = 0; sent < CHANGES; sent++) {
    await condition(() => toSend.length > 0);
    await send(orderId, toSend.shift()!, url);
  }
}
