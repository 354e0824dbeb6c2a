import { setTimeout as delay } from 'node:timers/promises';
import { findOrder } from '../../../src/db/orders';
import { createOrderWorkflows } from '../../../src/temporal/order-workflow-client';
import type { ApiResponse } from '../../support/api';
import { openOrder, statusOf, timelineOf } from '../../support/orders';
import { useSharedStack } from '../../support/shared-stack';
import { until } from '../../support/until';

const stack = useSharedStack();

const workflow = (id: string) => stack.client.workflow.getHandle(`order-${id}`);
const statusOfRow = async (id: string) => (await findOrder(stack.db, id))?.status;

/** Repeats a call that gets 503, as callers do: if Temporal has dropped it, only the next one learns who has won. */
const answered = (call: () => Promise<ApiResponse>): Promise<ApiResponse> =>
  until(async () => {
    const response = await call();
    return response.status === 503 ? undefined : response;
  }, 'the call is answered');

test('one of a concurrent cancel and completion wins in each of 200 orders, and row, timeline and responses agree', async () => {
  const ids: string[] = [];
  for (let batch = 0; batch < 10; batch++) {
    const events = ['signup_started', 'approved'];
    ids.push(...(await Promise.all(Array.from({ length: 20 }, () => openOrder(stack, {}, events)))));
  }
  for (let batch = 0; batch < 10; batch++) {
    const race = async (id: string, index: number) => {
      // One of the two is sent a moment later, so that usually both kinds of request win.
      const [cancel, complete] = await Promise.all([
        delay(index % 3 === 1 ? 4 : 0).then(() => answered(() => stack.api.cancel(id))),
        delay(index % 3 === 2 ? 30 : 0).then(() => answered(() => stack.api.progress(id, 'completed'))),
      ]);
      const winner = cancel.status === 200 ? 'UNSUCCESSFUL' : 'SUCCESSFUL';
      expect([cancel.status, complete.status].sort()).toEqual([200, 409]);
      expect(await statusOfRow(id)).toBe(winner);
      expect((await stack.api.get(id)).body.data.status).toBe(winner);
      expect(await timelineOf(stack, id)).toHaveLength(4);
      expect(((await workflow(id).result()) as { status: string }).status).toBe(winner);
    };
    await Promise.all(ids.slice(batch * 20, batch * 20 + 20).map(race));
  }
}, 600_000);

test('a start that arrives after the end of the workflow starts no second run', async () => {
  const id = await openOrder(stack);
  const createdOrder = (await findOrder(stack.db, id))!;
  expect((await stack.api.cancel(id)).status).toBe(200);
  await workflow(id).result();
  const { runId: first } = await workflow(id).describe();
  const workflows = createOrderWorkflows(stack.client, {
    startTimeoutMs: 60_000,
    updateTimeoutMs: 60_000,
    encryptPayloads: false,
  });
  await workflows.start(createdOrder, 0);
  // Visibility might not show a second run yet.
  expect((await workflow(id).describe()).runId).toBe(first);
  expect(await statusOf(stack.client, id)).toBe('COMPLETED');
  expect(await statusOfRow(id)).toBe('UNSUCCESSFUL');
});

test('a resumed run that reads a closed order from the row ends without a change', async () => {
  const id = await openOrder(stack, {}, ['failed']);
  await workflow(id).result();
  const order = (await findOrder(stack.db, id))!;
  await createOrderWorkflows(stack.client, {
    startTimeoutMs: 60_000,
    updateTimeoutMs: 60_000,
    encryptPayloads: false,
  }).resume({ ...order, status: 'CREATED', version: 1 });
  expect(await workflow(id).result()).toMatchObject({ status: 'UNSUCCESSFUL', version: 2 });
  expect(await timelineOf(stack, id)).toHaveLength(2);
});
