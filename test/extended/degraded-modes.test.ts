import path from 'node:path';
import { PACKAGE_ROOT } from '../../src/package';
import type { ApiResponse } from '../support/api';
import { constants } from '../support/constants';
import { openOrder, queryOrder, timelineOf } from '../support/orders';
import { expectProblem } from '../support/problems';
import { killProcesses, startProcess } from '../support/processes';
import { useReceiver } from '../support/receiver';
import { useStack } from '../support/stack';
import { until } from '../support/until';

/*
 * docs/operators/operate.md, "What callers see while a part is down": what callers see, what waits, and that everything
 * continues without a person. An unavailable Temporal is in faults.test.ts, and failing receivers are in
 * test/unit/webhooks and test/integration/webhooks/webhook-activities.test.ts.
 */
jest.setTimeout(300_000);

const stack = useStack({
  worker: false,
  env: { ...constants({ readBudgetMs: 10_000 }), UPDATE_TIMEOUT_MS: '2000', WEBHOOK_RETRY_DELAYS: '0,1,1,1,1,1,1,1' },
});
const receiver = useReceiver('test');
afterEach(async () => {
  await stack.stopWorker();
  await killProcesses();
});

function expectRetryLater(response: ApiResponse, detail: RegExp): void {
  expectProblem(response, 503, 'service_unavailable');
  expect(response.headers.get('Retry-After')).toBe('5');
  expect(response.body.detail).toMatch(detail);
}

/** Repeats a cancel until it succeeds, and expects one cancel in the timeline. */
async function cancelSucceeds(id: string): Promise<void> {
  await until(async () => (await stack.api.cancel(id)).status === 200, 'the cancel succeeds');
  expect((await timelineOf(stack, id)).filter(({ event }) => event === 'cancel')).toHaveLength(1);
}

const isReady = async () => (await stack.api.call('GET', '/health/ready', { key: null })).status === 200;

test('without a worker, orders are created and read, changes get 503, and the next worker resumes them', async () => {
  await stack.startWorker();
  const id = await openOrder(stack, {}, ['signup_started']);
  await stack.stopWorker();
  const created = await stack.api.create();
  const read = await stack.api.get(id);
  expect([created.status, read.status, read.headers.get('Order-Source'), await isReady()]).toEqual([
    ...[201, 200, 'snapshot', true],
  ]);
  expectRetryLater(await stack.api.cancel(id), /outcome is unknown/);
  await stack.startWorker();
  await cancelSucceeds(id);
  await until(() => queryOrder(stack.client, created.body.data.id).catch(() => null), 'the new order runs');
});

test.each([1, -1])(
  'a worker whose clock is %i h wrong makes attempts when they are due, and signs the right time',
  async (hours) => {
    const worker = await startProcess(
      'worker',
      { ...stack.env, CHAOS_CLOCK_SHIFT_MS: String(hours * 3_600_000) },
      { nodeOptions: ['--require', path.join(PACKAGE_ROOT, 'dist/test/chaos/preload/shift-clock.js')] },
    );
    receiver.answerWith(500);
    const id = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started']);
    await until(() => receiver.deliveries.length === 3, 'three attempts have arrived');
    const [first, second, third] = receiver.deliveries.map(({ at }) => at) as [number, number, number];
    for (const waitMs of [second - first, third - second]) expect(waitMs).toBeGreaterThan(800);
    // The wrong clock is an hour off.
    for (const { at, headers } of receiver.deliveries) {
      expect(Math.abs(Number(headers['webhook-timestamp']) - at / 1000)).toBeLessThan(1800);
    }
    await stack.api.cancel(id);
    await worker.signal('SIGTERM');
  },
);
