import type { OrderDependencies } from '../../../src/orders/dependencies';
import { testWebhook } from '../../../src/orders/webhook-endpoint';
import { NothingChanged } from '../../../src/temporal/calls';

const FAILURES: [string, Error, RegExp][] = [
  ['nothing was sent if the call was not made', new NothingChanged('down'), /Nothing was sent\..* is safe/],
  ['it may have been sent after any other error', new Error('deadline'), /^(?!.* is safe).*may have been sent/],
];

test.each(FAILURES)('a test webhook that fails states whether it was sent: %s', async (_, error, detail) => {
  const db = { query: () => Promise.resolve({ rows: [] }) };
  const deps = { db, workflows: { testWebhook: () => Promise.reject(error) } } as unknown as OrderDependencies;
  const problem: unknown = await testWebhook(deps, 'a', 'https://shop.example/').catch((thrown: unknown) => thrown);
  expect(problem).toMatchObject({ code: 'service_unavailable', message: expect.stringMatching(detail) });
});
