import path from 'node:path';
import type { Lender } from '../../../src/checkout/lender/lender';
import { mailWorkflowId } from '../../../src/checkout/temporal/checkout-messages';
import { PACKAGE_ROOT } from '../../../src/package';
import { newCustomer, statusOfOrder, useCheckout } from '../../support/checkout';
import type * as LiveProviders from '../../support/live-providers';
import { type ReceivedMail, kindOf, startMailServer } from '../../support/mails';
import { killProcesses, startProcess } from '../../support/processes';
import { until } from '../../support/until';

jest.setTimeout(300_000);

/** The API asks no lender for a decision: the worker does, in a process of its own. */
const mockLender: Lender = {
  reviewTime: 'about 2 hours',
  quote: ({ amountPence }) => ({ instalments: [{ dueInMonths: 1, amountPence }] }),
  decide: () => Promise.reject(new Error('not here')),
};
jest.mock('../../../src/providers', () =>
  jest.requireActual<typeof LiveProviders>('../../support/live-providers').withLiveProviders(() => mockLender),
);

/** Fixed, because the settings of the service name it before a server listens. */
const PORT = 30_000 + (process.pid % 2000);
const stack = useCheckout({
  sandbox: false,
  worker: false,
  env: { MAIL_URL: `smtp://127.0.0.1:${PORT}`, MAIL_FROM: 'no-reply@pay.example' },
});
const preload = ['--require', path.join(PACKAGE_ROOT, 'dist/test/support/live-lender-worker.js')];
const startWorker = () => startProcess('worker', stack.env, { nodeOptions: preload });
afterEach(() => killProcesses());

/** Applies, and waits until the lender has approved. */
async function approvedOrder() {
  const order = await newCustomer(stack, { allowed_payment_terms: ['PAY_LATER'] });
  await order.customer.apply({ email: 'jo@killed.example' });
  await until(async () => (await statusOfOrder(stack, order.id)) === 'APPROVED', 'it is approved');
  return order;
}
const mailRun = (id: string) => stack.client.workflow.getHandle(mailWorkflowId(id)).describe();
const isDone = (id: string) =>
  until(
    async () => (await mailRun(id).catch(() => undefined))?.status.name === 'COMPLETED',
    'the mail is done',
    150_000,
  );

test('a worker killed while the mail server has the mail but has not answered sends it again, with the same Message-ID', async () => {
  const first = await startWorker();
  let killed = (): void => undefined;
  const isKilled = new Promise<void>((resolve) => (killed = resolve));
  const server = await startMailServer({ port: PORT, beforeAnswer: () => isKilled });
  const { id } = await approvedOrder();
  await until(() => server.mails.length === 1, 'the mail server has the mail');
  await first.signal('SIGKILL');
  killed();
  await startWorker();
  await isDone(id);
  const [sent, repeated] = server.mails as [ReceivedMail, ReceivedMail];
  expect(server.mails.map(kindOf)).toEqual(['decided', 'decided']);
  expect(sent.id).toMatch(new RegExp(`^<decided\\.\\d+\\.${id}@pay\\.example>$`));
  expect([repeated.id, repeated.text]).toEqual([sent.id, sent.text]);
  await server.stop();
});

test.each([
  // At once, so that at most the decision is saved.
  ['before the mail is due', () => Promise.resolve(true)],
  [
    'while it tries again because the mail server is down',
    async (id: string) => {
      const run = await mailRun(id).catch(() => undefined);
      return run?.raw.pendingActivities?.some(({ attempt }) => (attempt ?? 0) > 1) === true;
    },
  ],
])('a worker killed after the decision, %s, sends the mail once', async (_, isReached) => {
  const first = await startWorker();
  const { id } = await approvedOrder();
  await until(() => isReached(id), 'the point is reached');
  await first.signal('SIGKILL');
  const server = await startMailServer({ port: PORT });
  await startWorker();
  await isDone(id);
  expect(server.mails.map(kindOf)).toEqual(['decided']);
  await server.stop();
});
