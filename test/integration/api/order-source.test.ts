import { constants } from '../../support/constants';
import { openOrder } from '../../support/orders';
import type { CallOptions } from '../../support/api';
import { startProxy } from '../../support/proxy';
import { createSeller } from '../../support/stack';
import { until } from '../../support/until';
import { useSharedStack } from '../../support/shared-stack';
import { withApi } from '../../support/with-api';

const stack = useSharedStack();

const sourceOf = async (id: string) => (await stack.api.get(id)).headers.get('Order-Source');
const readLive = (id: string, api = stack.api) =>
  until(async () => {
    const read = await api.get(id);
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

test('while Temporal does not respond, reads of an open order come from its row, and then from its workflow again', async () => {
  const proxy = await startProxy(process.env.TEST_TEMPORAL_ADDRESS!);
  const temporal = { ...stack.temporal, connectionOptions: { address: proxy.address } };
  await withApi({ ...stack, temporal }, constants({ readBudgetMs: 1000 }), async (api) => {
    const id = await openOrder(stack, { meta_data: { a: 1 } }, ['signup_started']);
    const live = await readLive(id, api);
    proxy.blackHole();
    const reads = await Promise.all(Array.from({ length: 50 }, () => api.get(id)));
    for (const { status, headers, text } of reads)
      expect([status, headers.get('Order-Source'), headers.get('ETag'), text]).toEqual([
        ...[200, 'snapshot', live.headers.get('ETag'), live.text],
      ]);
    proxy.restore();
    expect((await readLive(id, api)).text).toBe(live.text);
  });
  proxy.stop();
});
