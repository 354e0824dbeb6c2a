import { createTransport } from '../../../src/client/transport';
import { startTestServer } from '../../support/listening-server';

test.each([
  ['120', 120_000],
  ['1e3', undefined],
  ['Infinity', undefined],
  ['1.5', undefined],
  ['2050-01-01', undefined],
])('a Retry-After of %s is a requested delay of %p ms', async (value, expected) => {
  const server = await startTestServer((_request, response) => {
    response.writeHead(503, { 'Retry-After': value }).end();
  });
  const call = createTransport({ url: server.url, apiKey: 'sk_1', timeoutMs: 5000, maxRetries: 0 });
  try {
    await expect(call({ method: 'GET', path: '/', idempotent: true })).rejects.toMatchObject({
      status: 503,
      retryAfterMs: expected,
    });
  } finally {
    await server.close();
  }
});
