import { BASE } from '../../support/api';
import { expectProblem } from '../../support/problems';
import { parseRaw, sendRaw } from '../../support/raw-http';
import { useStack } from '../../support/stack';

const stack = useStack({
  worker: false,
  env: { MAX_BODY_BYTES: '100000', MAX_HEADER_BYTES: '32768' },
});

const body = (bytes: number, reference: string) =>
  JSON.stringify({ data: { amount: 1, reference } }).padEnd(bytes, ' ');

test('MAX_BODY_BYTES limits the body, and the OpenAPI document states it', async () => {
  const { api } = stack;
  expect((await api.create({}, { body: body(100_000, 'large') })).status).toBe(201);
  const { detail } = expectProblem(await api.create({}, { body: body(100_001, 'larger') }), 413, 'payload_too_large');
  expect(detail).toBe('The body may be at most 100000 bytes.');
  const document = await api.call('GET', '/openapi.json', { key: null });
  expect(document.body.info.description).toContain('at most 100000 bytes');
});

test('MAX_HEADER_BYTES limits the headers', async () => {
  const get = (bytes: number) =>
    sendRaw(
      stack.api.url,
      `GET /nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Large: ${'x'.repeat(bytes)}\r\n\r\n`,
    );
  expectProblem(parseRaw(await get(30_000)), 404, 'not_found');
  expect(await get(40_000)).toMatch(/^HTTP\/1\.1 431 /);
});

const hasty = useStack({ worker: false, env: { HEADERS_TIMEOUT_MS: '300', REQUEST_TIMEOUT_MS: '500' } });

test('HEADERS_TIMEOUT_MS and REQUEST_TIMEOUT_MS limit the time a request takes to arrive', async () => {
  const { id, key } = hasty.seller;
  const headers = `Host: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: 10`;
  for (const start of [
    'GET / HTTP/1.1\r\nX-Slow: ',
    `POST ${BASE}/seller/${id}/order/ HTTP/1.1\r\n${headers}\r\n\r\n{`,
  ]) {
    expect(await sendRaw(hasty.api.url, start)).toMatch(/^HTTP\/1\.1 408 /);
  }
});
