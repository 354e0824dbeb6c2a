import { NO_OFFER } from '../../../src/domain/application';
import type { Lender, LenderAnswer } from '../../../src/lender/lender';
import type * as Providers from '../../../src/providers';
import { applied, statusOfOrder, useCheckout } from '../../support/checkout';
import { openOrder } from '../../support/orders';
import { useReceiver } from '../../support/receiver';
import { until } from '../../support/until';

/** As many as a worker makes at the same time. */
const CALLS = 50;

/** The calls to the lender that hang until they are answered here, or aborted. */
const mockCalls: ((answer: LenderAnswer) => void)[] = [];
const mockLender: Lender = {
  reviewTime: '',
  quote: () => NO_OFFER,
  decide: (_, signal) =>
    new Promise((resolve, reject) => {
      mockCalls.push(resolve);
      signal.addEventListener('abort', () => reject(signal.reason as Error));
    }),
};
jest.mock('../../../src/providers', () => {
  const providers = jest.requireActual<typeof Providers>('../../../src/providers');
  const { lendersOf } = providers;
  return {
    ...providers,
    lendersOf: (...args: Parameters<typeof lendersOf>) => ({ ...lendersOf(...args), live: mockLender }),
  };
});

const stack = useCheckout({ sandbox: false, env: { WEBHOOK_CONCURRENCY: '10' } });
const receiver = useReceiver();

test('a lender that hangs in as many calls as a worker makes delays neither saves nor webhooks', async () => {
  const ids = await Promise.all(Array.from({ length: CALLS }, () => applied(stack, 'jo@bloggs.example')));
  await until(() => mockCalls.length === CALLS, 'every call hangs');
  const startedAt = performance.now();
  const other = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started', 'approved', 'completed']);
  await until(() => receiver.deliveries.length === 3, 'the webhooks have arrived');
  expect((await stack.api.cancel(ids[0]!)).status).toBe(200);
  // Much shorter than a call may hang.
  expect(performance.now() - startedAt).toBeLessThan(15_000);
  expect(await Promise.all([other, ids[0]!].map((id) => statusOfOrder(stack, id)))).toEqual([
    'SUCCESSFUL',
    'UNSUCCESSFUL',
  ]);
  for (const answer of mockCalls) answer({ kind: 'approved', offer: NO_OFFER });
  await until(async () => (await statusOfOrder(stack, ids[1]!)) === 'APPROVED', 'an answer is used');
}, 60_000);
