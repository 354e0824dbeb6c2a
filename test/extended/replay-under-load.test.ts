import { setTimeout as delay } from 'node:timers/promises';
import { temporal } from '@temporalio/proto';
import { Worker } from '@temporalio/worker';
import { cancelSignal, customerProgressSignal, getOrderQuery } from '../../workflows/messages';
import { openOrder } from '../support/orders';
import { useReceiver } from '../support/receiver';
import { WORKFLOW_BUNDLES } from '../../src/temporal/workflow-bundle';
import { useStack } from '../support/stack';
import { until } from '../support/until';

const stack = useStack({ env: { WEBHOOK_RETRY_DELAYS: '0,0.2,0.2,0.2,60' } });
const receiver = useReceiver();

const ORDERS = 40;
const AT_ONCE = 6;
const ASK_MS = 50;
/** The Temporal UI sends the first one by itself when a person opens a workflow. */
const QUERIES = ['__temporal_workflow_metadata', getOrderQuery.name];

const workflow = (id: string) => stack.client.workflow.getHandle(`order-${id}`);

/** Sends queries until `done`, as open pages of the Temporal UI do. @returns how many were answered */
async function watch(id: string, done: Promise<unknown>): Promise<number> {
  let isDone = false;
  let answers = 0;
  const page = async (query: string): Promise<void> => {
    while (!isDone) {
      await workflow(id)
        .query(query)
        .then(
          () => (answers += 1),
          () => undefined,
        );
      await delay(ASK_MS);
    }
  };
  const pages = [...QUERIES, ...QUERIES].map(page);
  await done.finally(() => (isDone = true));
  await Promise.all(pages);
  return answers;
}

/** Calls that change an order: repeats and refusals too. A busy machine answers some with 503. */
async function change(id: string, number: number): Promise<void> {
  const { api } = stack;
  const isAnswered = async (call: () => Promise<{ status: number }>) => [200, 409].includes((await call()).status);
  const insist = (call: () => Promise<{ status: number }>) =>
    until(() => isAnswered(call), 'the call is answered', 60_000);
  await Promise.all([
    insist(() => api.progress(id, 'signup_started')),
    insist(() => api.progress(id, 'signup_started')),
    workflow(id).signal(customerProgressSignal, { event: 'nonsense' }),
  ]);
  await Promise.all([
    insist(() => api.progress(id, 'approved')),
    workflow(id).signal(customerProgressSignal, { event: 'approved' }),
  ]);
  const ends = [
    () => insist(() => api.progress(id, 'completed')),
    () => insist(() => api.cancel(id)),
    () =>
      workflow(id)
        .signal(cancelSignal, { reason: 'load' })
        .catch(() => undefined),
  ];
  await Promise.all([ends[number % 3]!(), ends[(number + 1) % 3]!()]);
}

test('the history of every order that gets updates, signals and queries at the same time can be replayed', async () => {
  receiver.answerWith(({ body }) => (body.data.order.amount % 3 === 0 ? 500 : 200));
  const ids: string[] = [];
  let answers = 0;
  const client = async (first: number): Promise<void> => {
    for (let number = first; number < ORDERS; number += AT_ONCE) {
      const id = await openOrder(stack, { webhook_url: receiver.url, amount: 1000 + number });
      ids.push(id);
      answers += await watch(id, change(id, number));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, (_, first) => client(first)));
  expect(answers).toBeGreaterThan(ORDERS);

  async function* histories() {
    for (const id of ids) {
      const history = temporal.api.history.v1.History.fromObject(await workflow(id).fetchHistory());
      yield { workflowId: id, history };
    }
  }
  const failed: string[] = [];
  let replayed = 0;
  for await (const { workflowId, error } of Worker.runReplayHistories(
    { workflowBundle: { codePath: WORKFLOW_BUNDLES.orders } },
    histories(),
  )) {
    replayed += 1;
    if (error) failed.push(`${workflowId}: ${error.message}`);
  }
  expect({ replayed, failed }).toEqual({ replayed: ORDERS, failed: [] });
}, 300_000);
