import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { status } from '@grpc/grpc-js';
import { createTemporalClient, endAt, nativeProxy } from '../../../src/temporal/connection';
import { until } from '../../support/until';

test.each([
  ['a delay that ends before the deadline stays as it is', 2000, 500, 500],
  ['a delay ends at the deadline', 2000, 6000, 1000],
  ['after the deadline there is no delay', 900, 6000, 0],
  ['without a deadline the delay stays as it is', Infinity, 6000, 6000],
])('in the backoff of the Temporal client, %s', (_, deadline, delayMs, expected) => {
  expect(endAt(deadline, delayMs, 1000)).toBe(expected);
});

/** The targets that a client of Temporal asks an HTTP proxy for. */
async function targetsAsked(variable: string): Promise<string[]> {
  const asked: string[] = [];
  const proxy = createServer().listen(0, '127.0.0.1');
  proxy.on('connect', ({ url = '' }, socket) => {
    asked.push(url);
    socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
  });
  await once(proxy, 'listening');
  const address = `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  // grpc-js writes there that it connects again.
  jest.spyOn(console, 'error').mockReturnValue();
  const before = { ...process.env };
  process.env[variable] = variable === 'TEMPORAL_PROXY' ? address : `http://${address}`;
  try {
    // Nothing listens on port 1.
    const { connection } = createTemporalClient({ connectionOptions: { address: '127.0.0.1:1' } });
    const call = connection.withDeadline(Date.now() + 1000, () => connection.workflowService.getSystemInfo({}));
    await expect(call).rejects.toThrow();
    await connection.close();
    if (variable === 'TEMPORAL_PROXY') expect(nativeProxy().proxy?.targetHost).toBe(address);
  } finally {
    process.env = before;
    proxy.close();
  }
  return asked;
}

test.each(['http_proxy', 'https_proxy', 'grpc_proxy'])('a client of Temporal does not use %s', async (variable) => {
  expect(await targetsAsked(variable)).toEqual([]);
});

test('a client of Temporal uses TEMPORAL_PROXY', async () => {
  expect(await targetsAsked('TEMPORAL_PROXY')).toContain('127.0.0.1:1');
});

test('a call that waits to be repeated when its connection is closed ends as cancelled', async () => {
  // Nothing listens on port 1.
  const { connection } = createTemporalClient({ connectionOptions: { address: '127.0.0.1:1' } });
  const delays = jest.spyOn(global, 'setTimeout');
  const call = connection.withDeadline(Date.now() + 60_000, () => connection.workflowService.getSystemInfo({}));
  const ended = call.catch((error: unknown) => error);
  await until(() => delays.mock.calls.some(([repeat]) => repeat.name === 'retry'), 'the call waits');
  await connection.close();
  delays.mockRestore();
  expect(await ended).toMatchObject({ code: status.CANCELLED, details: 'the connection is closed' });
});
