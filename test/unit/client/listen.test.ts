import type { OrderServiceClient } from '../../../packages/client/src/client';
import { OrderServiceError } from '../../../packages/client/src/client-errors';
import { listen } from '../../../packages/client/src/listen';
import { ownClock } from '../../support/clock';

afterEach(() => jest.restoreAllMocks());

test('listen waits as long as the service requests before it asks again', async () => {
  const { delays } = ownClock();
  const stop = new AbortController();
  const page = { data: [], next_cursor: null };
  const listWebhooks = jest
    .fn()
    .mockResolvedValueOnce(page)
    .mockRejectedValueOnce(new OrderServiceError(429, 'rate_limited', 'too many requests', undefined, 60_000))
    .mockImplementationOnce(() => {
      stop.abort();
      return Promise.resolve(page);
    });
  const lines: string[] = [];
  await listen({
    orders: { listWebhooks } as unknown as OrderServiceClient,
    forwardTo: 'http://127.0.0.1:8080/',
    print: (line) => lines.push(line),
    signal: stop.signal,
  });
  expect(delays).toEqual([60_000, 1000]);
  expect(lines.at(-1)).toContain('too many requests');
});
