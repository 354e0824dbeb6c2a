import { NO_OFFER } from '../../../src/checkout/domain/application';
import type * as Guards from '../../../src/checkout/lender/guard-lenders';
import type { Lender, LenderAnswer } from '../../../src/checkout/lender/lender';
import { applied, pendingCall, proceedCheckout, statusOfOrder, useCheckout } from '../../support/checkout';
import { inBatches } from '../../support/in-batches';
import type * as LiveProviders from '../../support/live-providers';
import { openOrder } from '../../support/orders';
import { useReceiver } from '../../support/receiver';
import { until } from '../../support/until';

jest.setTimeout(600_000);

/** The calls to the lender that a worker makes at the same time. */
const CALLS = 40;
/** More than the activities that a worker runs at the same time. */
const APPLICATIONS = 60;

/** The calls to the lender that hang until they are answered here: this lender ignores that a call is aborted. */
const mockCalls = new Set<(answer: LenderAnswer) => void>();
/** Answers further calls immediately. */
let mockAnswer: LenderAnswer | undefined;
const mockLender: Lender = {
  reviewTime: '',
  quote: () => NO_OFFER,
  decide: () =>
    new Promise((resolve) => {
      if (mockAnswer) resolve(mockAnswer);
      else mockCalls.add(resolve);
    }),
};
jest.mock('../../../src/providers', () =>
  jest.requireActual<typeof LiveProviders>('../../support/live-providers').withLiveProviders(() => mockLender),
);

/** The calls hang longer than on any machine that runs the test. */
jest.mock('../../../src/checkout/lender/guard-lenders', () => {
  const actual = jest.requireActual<typeof Guards>('../../../src/checkout/lender/guard-lenders');
  const guardLenders: typeof actual.guardLenders = (lenders) => actual.guardLenders(lenders, { deadlineMs: 600_000 });
  return { ...actual, guardLenders };
});

const stack = useCheckout({ sandbox: false, env: { WEBHOOK_CONCURRENCY: '10' } });
const receiver = useReceiver('test');

/** Submits applications until as many calls hang as a worker makes. Returns the ids of their orders. */
async function hang(): Promise<string[]> {
  mockAnswer = undefined;
  mockCalls.clear();
  const ids: string[] = [];
  await inBatches(Array<string>(APPLICATIONS).fill('jo@bloggs.example'), 10, async (email) => {
    ids.push(await applied(stack, email, { notify: false }));
  });
  await Promise.all(ids.map((id) => proceedCheckout(stack, id)));
  await until(() => mockCalls.size === CALLS, 'the calls hang');
  return ids;
}

/** Makes the lender answer, and waits until the orders have the status that follows. */
async function answerAll(ids: readonly string[]): Promise<void> {
  mockAnswer = { kind: 'approved', offer: { instalments: [{ dueInMonths: 1, amountPence: 123_450 }] } };
  for (const answer of mockCalls) answer(mockAnswer);
  const isApproved = async (id: string) => (await statusOfOrder(stack, id)) === 'APPROVED';
  await until(async () => (await Promise.all(ids.map(isApproved))).every(Boolean), 'the answers are used', 200_000);
}

test('a lender that hangs in as many calls as a worker makes delays neither saves nor webhooks', async () => {
  const webhooksOf = (id: string) => receiver.deliveries.filter(({ body }) => body.data.order.id === id).length;
  const other = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started', 'approved']);
  await until(() => webhooksOf(other) === 2, 'the first webhooks have arrived');
  const [cancelled, ...ids] = await hang();
  let next = 0;
  const shownError = async () => (await pendingCall(stack, ids[next++ % ids.length]!))?.error;
  await until(async () => (await shownError())?.startsWith(`${CALLS} other`), 'Temporal shows that a call waits');
  expect((await stack.api.progress(other, 'completed')).status).toBe(200);
  await until(() => webhooksOf(other) === 3, 'the last webhook has arrived');
  expect((await stack.api.cancel(cancelled!)).status).toBe(200);
  expect(await Promise.all([other, cancelled!].map((id) => statusOfOrder(stack, id)))).toEqual([
    'SUCCESSFUL',
    'UNSUCCESSFUL',
  ]);
  expect(mockCalls.size).toBe(CALLS);
  await answerAll(ids);
});
