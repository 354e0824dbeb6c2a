import { openOrder } from '../../support/orders';
import type { CallOptions } from '../../support/api';
import { createSeller, useStack } from '../../support/stack';
import { until } from '../../support/until';

const BUDGET_MS = 1000;
/** Tolerance for a busy machine, in ms. Without the budget, a read would wait 10 s for a workflow without a worker. */
const TOLERANCE_MS = 8000;
/** The time after which reads that have stopped waiting try the workflow again. */
const PROBE_INTERVAL_MS = 2000;

describe('with a worker', () => {
  const stack = useStack();

  const sourceOf = async (id: string) => (await stack.api.get(id)).headers.get('Order-Source');
  const readLive = (id: string) =>
    until(async () => {
      const read = await stack.api.get(id);
      return read.headers.get('Order-Source') === 'workflow' ? read : undefined;
    }, 'the read comes from the workflow');

  test('a read of an open order comes from its workflow', async () => {
    const id = await openOrder(stack);
    await readLive(id);
    await stack.api.progress(id, 'signup_started');
    expect((await readLive(id)).body.data.status).toBe('PENDING');
  });

  test('a read of a closed order comes from its row', async () => {
    const successful = await openOrder(stack, {}, ['signup_started', 'approved', 'completed']);
    const cancelled = await openOrder(stack);
    await stack.api.cancel(cancelled);
    expect([await sourceOf(successful), await sourceOf(cancelled)]).toEqual(['snapshot', 'snapshot']);
  });

  describe('with If-None-Match', () => {
    const getIfChanged = (id: string, etag: string, options: CallOptions = {}) =>
      stack.api.get(id, { headers: { 'If-None-Match': etag }, ...options });

    test('an unchanged order returns 304 from its row, whatever the form of the header', async () => {
      const id = await openOrder(stack);
      const etag = (await stack.api.get(id)).headers.get('ETag')!;
      for (const header of [etag, `W/${etag}`, `"other", ${etag}`]) {
        const { status, text, headers } = await getIfChanged(id, header);
        expect([status, text, headers.get('ETag'), headers.get('Order-Source')]).toEqual([304, '', etag, 'snapshot']);
      }
      expect((await getIfChanged(id, '"7"')).status).toBe(200);
    });

    test('a changed order returns 200 and its new ETag', async () => {
      const id = await openOrder(stack);
      const etag = (await stack.api.get(id)).headers.get('ETag')!;
      await stack.api.progress(id, 'signup_started');
      const changed = await getIfChanged(id, etag);
      expect([changed.status, changed.body.data.status]).toEqual([200, 'PENDING']);
      expect(changed.headers.get('ETag')).toBe('"2"');
    });

    test('another seller gets the same 404 as without it', async () => {
      const id = await openOrder(stack);
      const etag = (await stack.api.get(id)).headers.get('ETag')!;
      const other = await createSeller(stack.db);
      const hidden = await getIfChanged(id, etag, { key: other.key });
      const plain = await stack.api.get(id, { key: other.key });
      const withoutRequestId = ({ status, body }: typeof hidden) => [status, { ...body, request_id: undefined }];
      expect(withoutRequestId(hidden)).toEqual(withoutRequestId(plain));
      expect(hidden.status).toBe(404);
    });
  });

  test('workflow and row return the same body', async () => {
    const id = await openOrder(stack, { meta_data: { a: 1 } }, ['signup_started']);
    const shown = await readLive(id);
    await stack.stopWorker();
    const stored = await stack.api.get(id);
    await stack.startWorker();
    expect([shown, stored].map(({ headers }) => headers.get('Order-Source'))).toEqual(['workflow', 'snapshot']);
    expect(stored.text).toBe(shown.text);
    expect(stored.headers.get('ETag')).toBe(shown.headers.get('ETag'));
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

  test('a read of an open order comes from its row after the query budget', async () => {
    const { status, source, ms } = await timedGet();
    expect([status, source]).toEqual([200, 'snapshot']);
    expect(ms).toBeGreaterThan(BUDGET_MS * 0.9);
    expect(ms).toBeLessThan(BUDGET_MS + TOLERANCE_MS);
  });

  test('many concurrent reads all return within the query budget', async () => {
    const reads = await Promise.all(Array.from({ length: 50 }, timedGet));
    expect(reads.map(({ status }) => status)).toEqual(Array(50).fill(200));
    // They have queried the workflow: the five failures that end such queries come with the first timeouts.
    expect(reads.filter(({ ms }) => ms > BUDGET_MS * 0.9).length).toBeGreaterThan(25);
    expect(Math.max(...reads.map(({ ms }) => ms))).toBeLessThan(BUDGET_MS + TOLERANCE_MS);
  });

  test('reads stop waiting for the workflow after repeated timeouts', async () => {
    for (let count = 0; count < 5; count++) await timedGet();
    const start = performance.now();
    const reads = [];
    for (let count = 0; count < 20; count++) reads.push(await timedGet());
    expect(new Set(reads.map(({ status, source }) => `${status} ${source}`))).toEqual(new Set(['200 snapshot']));
    const waited = reads.filter(({ ms }) => ms > BUDGET_MS * 0.9);
    expect(waited.length).toBeLessThanOrEqual(1 + (performance.now() - start) / PROBE_INTERVAL_MS);
  });

  test('a read comes from the workflow again once a worker runs', async () => {
    await stack.startWorker();
    await until(async () => (await timedGet()).source === 'workflow', 'the read comes from the workflow');
  });
});
