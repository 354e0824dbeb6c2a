import { constants } from '../../support/constants';
import { openOrder } from '../../support/orders';
import type { CallOptions } from '../../support/api';
import { type Proxy, startProxy } from '../../support/proxy';
import { type Stack, createSeller, startStack, useStack } from '../../support/stack';
import { until } from '../../support/until';
import { useSharedStack } from '../../support/shared-stack';

describe('while Temporal responds', () => {
  const stack = useSharedStack();

  const sourceOf = async (id: string) => (await stack.api.get(id)).headers.get('Order-Source');
  const readLive = (id: string) =>
    until(async () => {
      const read = await stack.api.get(id);
      return read.headers.get('Order-Source') === 'workflow' ? read : undefined;
    }, 'the read comes from the workflow');

  test('a read of an open order comes from its workflow', async () => {
    const id = await openOrder(stack, {}, ['signup_started']);
    expect((await readLive(id)).body.data.status).toBe('PENDING');
    await stack.api.progress(id, 'approved');
    expect((await readLive(id)).body.data.status).toBe('APPROVED');
  });

  test('a read of an order that nobody has touched comes from its row', async () => {
    expect(await sourceOf(await openOrder(stack))).toBe('snapshot');
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
      for (const header of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
        const { status, text, headers } = await getIfChanged(id, header);
        expect([status, text, headers.get('ETag'), headers.get('Order-Source')]).toEqual([304, '', etag, 'snapshot']);
      }
      expect((await getIfChanged(id, '"7"')).status).toBe(200);
    });

    test('and If-Match, an order of another version returns 412, and one of that version returns 200 or 304', async () => {
      const id = await openOrder(stack, {}, ['signup_started']);
      const get = (headers: Record<string, string>) => stack.api.get(id, { headers });
      const refused = await get({ 'If-Match': '"1"', 'If-None-Match': '"2"' });
      expect([refused.status, refused.body.code, refused.headers.get('ETag')]).toEqual([
        412,
        'precondition_failed',
        '"2"',
      ]);
      expect((await get({ 'If-Match': '"2"' })).status).toBe(200);
      expect((await get({ 'If-Match': '*' })).status).toBe(200);
      expect((await get({ 'If-Match': '"2"', 'If-None-Match': '"2"' })).status).toBe(304);
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
});

describe('without a worker', () => {
  const stack = useStack({ env: constants({ readBudgetMs: 10_000 }) });

  test('a read of an open order comes from its row', async () => {
    const id = await openOrder(stack, {}, ['signup_started']);
    await stack.stopWorker();
    const { headers, body } = await stack.api.get(id);
    expect([headers.get('Order-Source'), body.data.status]).toEqual(['snapshot', 'PENDING']);
  });
});

describe('while Temporal does not respond', () => {
  let proxy: Proxy;
  let stack: Stack;
  let id: string;
  beforeAll(async () => {
    proxy = await startProxy(process.env.TEST_TEMPORAL_ADDRESS!);
    stack = await startStack({ address: proxy.address, env: constants({ readBudgetMs: 1000 }) });
    id = await openOrder(stack, { meta_data: { a: 1 } }, ['signup_started']);
  });
  afterAll(async () => {
    proxy.restore();
    await stack.stop();
    proxy.stop();
  });

  const read = async () => {
    const { status, headers, text } = await stack.api.get(id);
    return { status, source: headers.get('Order-Source'), etag: headers.get('ETag'), text };
  };
  const readLive = () =>
    until(async () => {
      const live = await read();
      return live.source === 'workflow' ? live : undefined;
    }, 'the read comes from the workflow');

  test('reads of an open order come from its row, with the same content, and from its workflow once it responds', async () => {
    const live = await readLive();
    proxy.blackHole();
    const reads = await Promise.all(Array.from({ length: 50 }, read));
    expect(reads).toEqual(Array(50).fill({ ...live, source: 'snapshot' }));
    proxy.restore();
    expect(await readLive()).toEqual(live);
  });
});
