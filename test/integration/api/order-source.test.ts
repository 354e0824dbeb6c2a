import { openOrder } from '../../support/orders';
import { useStack } from '../../support/stack';
import { until } from '../../support/until';

const BUDGET_MS = 300;

describe('with a worker', () => {
  const stack = useStack();

  const sourceOf = async (id: string) => (await stack.api.get(id)).headers.get('Order-Source');

  test('the workflow answers for an open order that was started', async () => {
    const id = await openOrder(stack);
    await until(async () => (await sourceOf(id)) === 'workflow', 'the workflow answers');
    await stack.api.progress(id, 'signup_started');
    const read = await stack.api.get(id);
    expect([read.headers.get('Order-Source'), read.body.data.status]).toEqual(['workflow', 'PENDING']);
  });

  test('the row answers for a closed order', async () => {
    const successful = await openOrder(stack, {}, ['signup_started', 'approved', 'completed']);
    const cancelled = await openOrder(stack);
    await stack.api.cancel(cancelled);
    expect([await sourceOf(successful), await sourceOf(cancelled)]).toEqual(['snapshot', 'snapshot']);
  });

  test('workflow and row give the same body', async () => {
    const id = await openOrder(stack, { meta_data: { a: 1 } }, ['signup_started']);
    await until(async () => (await sourceOf(id)) === 'workflow', 'the workflow answers');
    const shown = await stack.api.get(id);
    await stack.stopWorker();
    const stored = await stack.api.get(id);
    await stack.startWorker();
    expect([shown, stored].map(({ headers }) => headers.get('Order-Source'))).toEqual(['workflow', 'snapshot']);
    expect(stored.text).toBe(shown.text);
  });
});

describe('without a worker', () => {
  const stack = useStack({ worker: false, env: { QUERY_BUDGET_MS: String(BUDGET_MS) } });
  let id: string;
  beforeAll(async () => {
    // Workflows need the search attributes, which the first worker creates.
    await stack.startWorker();
    await stack.stopWorker();
    id = await openOrder(stack);
  });

  async function timedGet() {
    const start = performance.now();
    const { status, headers } = await stack.api.get(id);
    return { status, source: headers.get('Order-Source'), ms: performance.now() - start };
  }

  test('the row answers for an open order after the query budget', async () => {
    const { status, source, ms } = await timedGet();
    expect([status, source]).toEqual([200, 'snapshot']);
    expect(ms).toBeGreaterThan(BUDGET_MS * 0.9);
    expect(ms).toBeLessThan(BUDGET_MS + 500);
  });

  test('reads stop waiting for the workflow after repeated timeouts', async () => {
    for (let count = 0; count < 5; count++) await timedGet();
    const answers = [];
    for (let count = 0; count < 20; count++) answers.push(await timedGet());
    expect(new Set(answers.map(({ status, source }) => `${status} ${source}`))).toEqual(new Set(['200 snapshot']));
    // One read at a time may probe whether the workflow answers again.
    const waited = answers.filter(({ ms }) => ms > BUDGET_MS * 0.9);
    expect(waited.length).toBeLessThanOrEqual(2);
  });

  test('many concurrent reads all return within the budget', async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, timedGet));
    expect(answers.map(({ status }) => status)).toEqual(Array(50).fill(200));
    expect(Math.max(...answers.map(({ ms }) => ms))).toBeLessThan(BUDGET_MS + 3000);
  });

  test('the workflow answers again once a worker runs', async () => {
    await stack.startWorker();
    await until(async () => (await timedGet()).source === 'workflow', 'the workflow answers', 10_000);
  });
});
