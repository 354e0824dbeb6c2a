import { request } from 'node:http';
import { startCodecServer } from '../../../src/codec-server';
import { loadCodecServerConfig } from '../../../src/config';
import { createLogger } from '../../../src/logger';
import { useResource } from '../../support/use-resource';

const KEY = `first:${Buffer.alloc(32, 7).toString('base64')}`;

const server = useResource(
  () =>
    startCodecServer(
      loadCodecServerConfig({
        ENCRYPTION_KEYS: KEY,
        CODEC_SERVER_PORT: '0',
        HOST: '127.0.0.1',
        CODEC_SERVER_ORIGIN: 'https://temporal.example/ui',
      }),
      createLogger('silent', 'codec-server'),
    ),
  (running) => running.stop(),
);

/** Calls the server under a name. `fetch` sets the Host header itself. */
function post(action: string, body: string, host?: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { 'Content-Type': 'application/json', ...(host !== undefined && { Host: host }) };
    request({ port: server.port, path: `/${action}`, method: 'POST', headers }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    })
      .on('error', reject)
      .end(body);
  });
}

const LENGTH = 200_000_000;

test.each([
  { payloads: [{ data: { length: LENGTH } }] },
  { payloads: [{ metadata: { encoding: { length: LENGTH } } }] },
  { payloads: [{ data: [1, 2, 3] }] },
  { payloads: [{ data: 'no Base64!' }] },
  { payloads: { length: LENGTH } },
  [{ payloads: [] }],
  null,
])('the codec server refuses %j, and allocates nothing for it', async (body) => {
  const before = process.memoryUsage().rss;
  for (const action of ['encode', 'decode']) expect(await post(action, JSON.stringify(body))).toBe(400);
  expect(process.memoryUsage().rss - before).toBeLessThan(100_000_000);
});

test('the codec server refuses a body of more than 6 MB', async () => {
  const body = JSON.stringify({ payloads: [{ data: 'A'.repeat(6 * 1024 * 1024) }] });
  expect(await post('decode', body)).toBe(400);
});

test('the codec server refuses more payloads than a page of a history has', async () => {
  const payloads = Array.from({ length: 10_001 }, () => ({}));
  expect(await post('encode', JSON.stringify({ payloads }))).toBe(400);
  expect(await post('encode', JSON.stringify({ payloads: payloads.slice(1) }))).toBe(200);
});

test('the codec server refuses metadata with more keys than Temporal sends', async () => {
  const keys = Array.from({ length: 101 }, (_, index) => [`k${index}`, '']);
  expect(await post('encode', JSON.stringify({ payloads: [{ metadata: Object.fromEntries(keys) as object }] }))).toBe(
    400,
  );
});

test.each(['127.0.0.1:3002', '[::1]:3002', 'localhost', 'temporal.example', 'TEMPORAL.example:443'])(
  'the codec server answers calls to the host %s',
  async (host) => {
    expect(await post('decode', '{"payloads":[]}', host)).toBe(200);
  },
);

test.each([
  'attacker.example',
  'attacker.example:3002',
  'temporal.example.attacker.example',
  '127.0.0.1.attacker.example',
])('the codec server refuses calls to the host %s, which a web page can point to it', async (host) => {
  expect(await post('decode', '{"payloads":[]}', host)).toBe(403);
});
