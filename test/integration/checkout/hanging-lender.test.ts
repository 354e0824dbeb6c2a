import { NO_OFFER } from '../../../src/domain/application';
import type { Lender, LenderAnswer } from '../../../src/lender/lender';
import { apiOf } from '../../support/api';
import { applied, newCustomer, statusOfOrder, useCheckout } from '../../support/checkout';
import type * as LiveProviders from '../../support/live-providers';
import { openOrder } from '../../support/orders';
import { useReceiver } from '../../support/receiver';
import { createSeller } from '../../support/stack';
import { until } from '../../support/until';

/** The calls to the lender that a worker makes at the same time. */
const CALLS = 40;
/** More than the activities that a worker runs at the same time. */
const APPLICATIONS = 60;

/** The calls to the lender that hang until they are answered here, or aborted. */
const mockCalls = new Set<(answer: LenderAnswer) => void>();
/** Answers further calls immediately. */
let mockAnswer: LenderAnswer | undefined;
const mockLender: Lender = {
  reviewTime: '',
  quote: () => NO_OFFER,
  decide: (_, signal) =>
    new Promise((resolve, reject) => {
      if (mockAnswer) {
        resolve(mockAnswer);
        return;
      }
      mockCalls.add(resolve);
      signal.addEventListener('abort', () => {
        mockCalls.delete(resolve);
        reject(signal.reason as Error);
      });
    }),
};
jest.mock('../../../src/providers', () =>
  jest.requireActual<typeof LiveProviders>('../../support/live-providers').withLiveProviders(() => mockLender),
);

const stack = useCheckout({ sandbox: false, env: { WEBHOOK_CONCURRENCY: '10' } });
const receiver = useReceiver('test');

/** Submits applications until as many calls hang as a worker makes. Returns the ids of their orders. */
async function hang(): Promise<string[]> {
  mockAnswer = undefined;
  mockCalls.clear();
  const ids = await Promise.all(Array.from({ length: APPLICATIONS }, () => applied(stack, 'jo@bloggs.example')));
  await until(() => mockCalls.size === CALLS, 'the calls hang');
  return ids;
}

/** Makes the lender answer, and waits until the orders have the status that follows. */
async function answerAll(ids: string[]): Promise<void> {
  mockAnswer = { kind: 'approved', offer: NO_OFFER };
  for (const answer of mockCalls) answer(mockAnswer);
  const isApproved = async (id: string) => (await statusOfOrder(stack, id)) === 'APPROVED';
  await until(async () => (await Promise.all(ids.map(isApproved))).every(Boolean), 'the answers are used', 80_000);
}

/** Much shorter than a call may hang. */
const SOON_MS = 15_000;

test('a lender that hangs in as many calls as a worker makes delays neither saves nor webhooks', async () => {
  const [cancelled, ...ids] = await hang();
  const startedAt = performance.now();
  const other = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started', 'approved', 'completed']);
  await until(() => receiver.deliveries.length === 3, 'the webhooks have arrived');
  expect((await stack.api.cancel(cancelled!)).status).toBe(200);
  expect(performance.now() - startedAt).toBeLessThan(SOON_MS);
  expect(mockCalls.size).toBeLessThanOrEqual(CALLS);
  expect(await Promise.all([other, cancelled!].map((id) => statusOfOrder(stack, id)))).toEqual([
    'SUCCESSFUL',
    'UNSUCCESSFUL',
  ]);
  await answerAll(ids);
});

test('a lender that hangs in as many calls as a worker makes does not delay the confirmation of a payment', async () => {
  const seller = await createSeller(stack.db, undefined, { sandbox: true });
  const api = apiOf(stack.api.url, seller, stack.api.checkoutKey);
  const { id, customer } = await newCustomer({ ...stack, api });
  const bankPage = await customer.startPayment();
  const ids = await hang();
  const startedAt = performance.now();
  await customer.leaveAtBank(bankPage, 'slow');
  await until(async () => (await api.get(id)).body.data.status === 'SUCCESSFUL', 'the payment is confirmed', 40_000);
  expect(performance.now() - startedAt).toBeLessThan(SOON_MS);
  await answerAll(ids);
});
