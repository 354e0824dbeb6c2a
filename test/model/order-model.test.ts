import assert from 'node:assert/strict';
import fc from 'fast-check';
import { PROGRESS_EVENTS } from '../../src/domain/order';
import { constants } from '../support/constants';
import { inBatches } from '../support/in-batches';
import { OrderModel, eventSequences } from '../support/order-model';
import { timelineOf } from '../support/orders';
import { useReceiver } from '../support/receiver';
import { useStack } from '../support/stack';
import { until } from '../support/until';

/**
 * Random sequences of calls against the real service, each compared with a ten-line model after every call. Default: 50
 * sequences. `MODEL_SEQUENCES=500 npm run model:short` runs more; `MODEL_SEED=17` repeats a run.
 */
const SEQUENCES = Number(process.env.MODEL_SEQUENCES ?? 50);
/** Orders of one property run, at the same time: a single caller would leave the service idle. */
const AT_ONCE = 10;

jest.setTimeout(600_000 + SEQUENCES * 3000);

const stack = useStack({ env: { ...constants({ readBudgetMs: 10_000 }), UPDATE_TIMEOUT_MS: '60000' } });
const receiver = useReceiver();

/** What callers do besides reporting events: read the order, list it, or have the worker replaced. */
const CALLS = ['read', 'list', 'terminate'] as const;
type Step = { event: (typeof PROGRESS_EVENTS)[number] | 'cancel' } | { call: (typeof CALLS)[number] };

const steps: fc.Arbitrary<Step[]> = fc
  .tuple(
    eventSequences([...PROGRESS_EVENTS, 'cancel'], 8),
    fc.array(fc.record({ at: fc.nat(8), call: fc.constantFrom(...CALLS) }), { maxLength: 3 }),
  )
  .map(([events, calls]) => {
    const all: Step[] = events.map((event) => ({ event: event as (typeof PROGRESS_EVENTS)[number] | 'cancel' }));
    for (const { at, call } of calls) all.splice(at, 0, { call });
    return all;
  });

/** Makes the calls about a new order, and compares every answer with the model. */
async function run(sequence: readonly Step[]): Promise<void> {
  const model = new OrderModel();
  const created = await stack.api.create({ webhook_url: receiver.url });
  assert.equal(created.status, 201);
  const { id, reference } = created.body.data;
  for (const step of sequence) {
    if ('event' in step) await makeChange(id, step.event, model);
    else if (step.call === 'read') await compareRead(id, model);
    else if (step.call === 'list') await compareList(id, reference, model);
    else
      await stack.client.workflow
        .getHandle(`order-${id}`)
        .terminate('model')
        .catch(() => undefined);
  }
  await compareRead(id, model);
  const changes = (await timelineOf(stack, id)).filter(({ version }) => version !== null);
  assert.deepEqual(
    changes.map(({ event }) => event),
    ['created', ...model.events],
  );
  await compareWebhooks(id, model);
}

async function makeChange(
  id: string,
  event: (typeof PROGRESS_EVENTS)[number] | 'cancel',
  model: OrderModel,
): Promise<void> {
  const { status, body, text } = event === 'cancel' ? await stack.api.cancel(id) : await stack.api.progress(id, event);
  const isRefused = model.apply(event) === 'refused';
  assert.equal(status, isRefused ? 409 : 200, `${event}: ${text}`);
  if (!isRefused) assert.equal(body.data.status, model.status, event);
}

async function compareRead(id: string, model: OrderModel): Promise<void> {
  const { body, headers } = await stack.api.get(id);
  assert.equal(body.data.status, model.status);
  assert.equal(headers.get('etag'), `"${model.events.length + 1}"`);
  assert.equal(body.data.cancelled_at != null, model.cancelled);
}

async function compareList(id: string, reference: string, model: OrderModel): Promise<void> {
  const path = `/api/lending/edge/ecommerce/seller/${stack.seller.id}/order/?reference=${reference}`;
  const { body } = await stack.api.call('GET', path);
  assert.deepEqual(
    body.data.map((order: { id: string; status: string }) => [order.id, order.status]),
    [[id, model.status]],
  );
}

/** All webhooks arrive, in order, and show the statuses of the model. */
async function compareWebhooks(id: string, { statuses }: OrderModel): Promise<void> {
  const received = () => receiver.deliveries.filter(({ body }) => body.data.order.id === id);
  const sequencesOf = () => [...new Set(received().map(({ body }) => Number(body.data.sequence)))];
  await until(
    () => sequencesOf().length >= statuses.length,
    `${statuses.length} webhooks of order ${id} arrived`,
    300_000,
  );
  assert.deepEqual(
    sequencesOf(),
    statuses.map((_, index) => index + 1),
  );
  for (const { body } of received()) assert.equal(body.data.order.status, statuses[body.data.sequence - 1]);
}

test(`orders of the real service agree with a ten-line model after ${SEQUENCES} random sequences of calls`, async () => {
  const { MODEL_SEED } = process.env;
  await fc.assert(
    fc.asyncProperty(fc.array(steps, { minLength: AT_ONCE, maxLength: AT_ONCE }), async (sequences) => {
      await inBatches(sequences, AT_ONCE, run);
    }),
    { numRuns: Math.ceil(SEQUENCES / AT_ONCE), endOnFailure: true, ...(MODEL_SEED && { seed: Number(MODEL_SEED) }) },
  );
});
