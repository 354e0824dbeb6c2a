import {
  condition,
  defineQuery,
  defineUpdate,
  proxyActivities,
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

const onOrderQueue = proxyActivities<BareActivities>({ startToCloseTimeout: '10 seconds' });
const onOwnQueue = proxyActivities<BareActivities>({ startToCloseTimeout: '40 seconds', taskQueue: WEBHOOK_QUEUE });

/** Answers a query and an update, and does nothing else. */
export async function emptyWorkflow(): Promise<void> {
  setHandler(stateQuery, () => 0);
  setHandler(emptyUpdate, () => 0);
  await condition(() => false);
}

/** The order in its ordinary shape: an activity saves, another one on its own queue sends. */
export async function ordinaryOrder(orderId: string, url: string): Promise<void> {
  let version = 0;
  const toSend: number[] = [];
  setHandler(stateQuery, () => version);
  setHandler(changeUpdate, async (status) => {
    version += 1;
    await onOrderQueue.save(orderId, status, version);
    toSend.push(version);
    upsertSearchAttributes([{ key: orderStatusKey, value: status }]);
    return version;
  });
  for (let sent = 0; sent < CHANGES; sent++) {
    await condition(() => toSend.length > 0);
    await onOwnQueue.send(orderId, toSend.shift()!, url);
  }
}
