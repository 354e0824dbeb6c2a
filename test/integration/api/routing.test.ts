import { randomUUID } from 'node:crypto';
import { VERSION } from '../../../src/package';
import { BASE } from '../../support/api';
import { expectProblem } from '../../support/problems';
import { until } from '../../support/until';
import { useSharedStack } from '../../support/shared-stack';

const stack = useSharedStack();
let id: string;
beforeAll(async () => {
  id = (await stack.api.create()).body.data.id;
});

describe('an unknown path', () => {
  test.each([
    '/favicon.ico',
    '/health',
    `${BASE}/order/`,
    `${BASE}/order/${randomUUID()}/unknown/`,
    `${BASE}//order/${randomUUID()}/`,
    `${BASE}/order/${randomUUID()}//`,
    '/%00',
    '/%ff%fe',
    `/${'x'.repeat(4000)}`,
  ])('returns 404: %s', async (path) => {
    const { api } = stack;
    for (const method of ['GET', 'POST', 'DELETE', 'PUT']) {
      const problem = expectProblem(await api.call(method, path), 404, 'not_found');
      expect(problem.instance).toBe(path);
    }
  });

  test('does not repeat the query in the problem', async () => {
    const problem = expectProblem(await stack.api.call('GET', '/nothing?token=secret'), 404, 'not_found');
    expect(problem.instance).toBe('/nothing');
    expect(JSON.stringify(problem)).not.toContain('secret');
  });
});

describe('an unsupported method', () => {
  const paths: [string, string, string[]][] = [
    [`/order/:id/`, 'DELETE, GET, HEAD', ['POST', 'PUT', 'PATCH']],
    [`/seller/:seller/order/:id/`, 'DELETE, GET, HEAD', ['POST', 'PUT', 'PATCH']],
    [`/order/:id/progress/`, 'POST', ['GET', 'PUT', 'DELETE', 'PATCH']],
    [`/seller/:seller/connection_check/`, 'GET, HEAD', ['POST', 'PUT', 'DELETE']],
  ];
  const toPath = (path: string) => BASE + path.replace(':id', id).replace(':seller', stack.seller.id);

  test.each(paths)('on %s returns 405 with Allow: %s', async (path, allow, methods) => {
    for (const method of methods) {
      for (const form of [toPath(path), toPath(path).slice(0, -1)]) {
        const response = await stack.api.call(method, form);
        expect(response.headers.get('Allow')).toBe(allow);
        expectProblem(response, 405, 'method_not_allowed');
      }
    }
  });

  test('returns 405 even without a key', async () => {
    expectProblem(await stack.api.call('PUT', `${BASE}/order/${id}/`, { key: null }), 405, 'method_not_allowed');
  });

  test.each(paths)('OPTIONS on %s returns 204 with Allow: %s', async (path, allow) => {
    const response = await stack.api.call('OPTIONS', toPath(path));
    expect(response.status).toBe(204);
    expect(response.headers.get('Allow')).toBe(allow);
    expect(response.text).toBe('');
  });

  test('OPTIONS on an unknown path returns 404', async () => {
    expectProblem(await stack.api.call('OPTIONS', '/nothing'), 404, 'not_found');
  });
});

describe('HEAD', () => {
  const head = (path: string, key = stack.seller.key) =>
    fetch(stack.api.url + BASE + path, { method: 'HEAD', headers: { Authorization: `Bearer ${key}` } });

  test('returns the headers of GET without the body', async () => {
    const get = await stack.api.get(id);
    const response = await head(`/order/${id}/`);
    expect(response.status).toBe(200);
    expect(await response.text()).toBe('');
    for (const name of ['Content-Type', 'Content-Length', 'Order-Source']) {
      expect(response.headers.get(name)).toBe(get.headers.get(name));
    }
  });

  test('returns errors without the body', async () => {
    const missing = await head(`/order/${randomUUID()}/`);
    expect(missing.status).toBe(404);
    expect(missing.headers.get('Content-Type')).toContain('application/problem+json');
    expect((await head(`/order/${id}/`, 'sk_none')).status).toBe(401);
    const refused = await head(`/order/${id}/progress/`);
    expect([refused.status, refused.headers.get('Allow')]).toEqual([405, 'POST']);
  });
});

describe('X-Request-Id', () => {
  const UUID = /^[0-9a-f-]{36}$/;
  const idOf = async (path: string, given?: string) => {
    const response = await stack.api.call('GET', path, {
      headers: given === undefined ? {} : { 'X-Request-Id': given },
    });
    return { shown: response.headers.get('X-Request-Id'), inBody: response.body.request_id as unknown };
  };

  test.each(['abc', '0193-a_b.c', '1-67891233-abcdef012345678912345678', 'Root=1-a/b+c==', 'x'.repeat(128)])(
    'that is valid is kept: %s',
    async (given) => {
      expect(await idOf(`${BASE}/order/${id}/`, given)).toEqual({ shown: given, inBody: undefined });
      expect(await idOf('/nothing', given)).toEqual({ shown: given, inBody: given });
    },
  );

  test.each(['', 'two words', 'a\u00e9', 'x'.repeat(129), 'a, b', 'sk_test_x', 'whsec_x'])(
    'that is invalid is replaced: %j',
    async (given) => {
      const { shown, inBody } = await idOf('/nothing', given);
      expect(shown).toMatch(UUID);
      expect(inBody).toBe(shown);
    },
  );

  test('is unique for each request that has none', async () => {
    const ids = await Promise.all(Array.from({ length: 20 }, () => idOf(`${BASE}/order/${id}/`)));
    for (const { shown } of ids) expect(shown).toMatch(UUID);
    expect(new Set(ids.map(({ shown }) => shown)).size).toBe(20);
  });
});

test('the health checks need no key', async () => {
  const live = await stack.api.call('GET', '/health/live', { key: null });
  expect([live.status, live.body]).toEqual([200, { status: 'ok', version: VERSION }]);
  const ready = await until(async () => {
    const response = await stack.api.call('GET', '/health/ready', { key: null });
    return response.status === 200 ? response : undefined;
  }, 'the API is ready');
  expect(ready.body).toEqual({ status: 'ok', database: 'ok' });
  const serving = await stack.api.call('GET', '/health/serving', { key: null });
  expect([serving.status, serving.body]).toEqual([200, { status: 'ok' }]);
});
