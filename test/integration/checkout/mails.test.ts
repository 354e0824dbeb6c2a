import type { Lender, LenderAnswer } from '../../../src/checkout/lender/lender';
import { mailWorkflowId } from '../../../src/checkout/temporal/checkout-messages';
import { customerAt, newCustomer, statusOfOrder, useCheckout } from '../../support/checkout';
import type * as LiveProviders from '../../support/live-providers';
import { storedText } from '../../support/history';
import { type MailServer, kindOf, linkIn, startMailServer, useLink } from '../../support/mails';
import { until } from '../../support/until';

const APPROVED: LenderAnswer = {
  kind: 'approved',
  offer: {
    annualInterest: 12,
    instalments: [1, 2, 3].map((dueInMonths) => ({ dueInMonths, amountPence: 42_000 })),
  },
};
const answers = new Map<string, () => LenderAnswer>();
const mockLender: Lender = {
  reviewTime: 'about 2 hours',
  quote: ({ amountPence }) => ({ instalments: [{ dueInMonths: 1, amountPence }] }),
  decide: ({ applicant }) => Promise.resolve((answers.get(applicant.email) ?? (() => APPROVED))()),
};
jest.mock('../../../src/providers', () =>
  jest.requireActual<typeof LiveProviders>('../../support/live-providers').withLiveProviders(() => mockLender),
);

let server: MailServer | undefined;
const serve = async (options: Partial<Parameters<typeof startMailServer>[0]> = {}) =>
  (server = await startMailServer({ port: PORT, ...options }));
/** Fixed, because the settings of the service name it before a server listens. */
const PORT = 20_000 + (process.pid % 10_000);

const stack = useCheckout({
  sandbox: false,
  env: { MAIL_URL: `smtp://127.0.0.1:${PORT}`, MAIL_FROM: 'no-reply@pay.example' },
});

afterEach(async () => {
  await server?.stop();
  server = undefined;
});

const REFERRED: LenderAnswer = { kind: 'referred', askAgainMs: 300 };
const kinds = (of: MailServer) => of.mails.map(kindOf);
const order = (data: Record<string, unknown> = {}) =>
  newCustomer(stack, {
    allowed_payment_terms: ['PAY_LATER'],
    reference: `HP-${String(Math.random()).slice(2, 9)}`,
    ...data,
  });
/** How often a mail to an address was tried. Mails of earlier tests may arrive too. */
const timesTo = (of: MailServer, email: string) => of.receivers.filter((one) => one === email).length;
const expectMail = (of: MailServer, kind: string, email: string) =>
  until(() => of.mails.find((mail) => kindOf(mail) === kind && mail.to[0] === email), `the mail ${kind} arrives`);
/** All that Temporal stores about an order. */
async function storedTexts(id: string): Promise<string> {
  const ids = [mailWorkflowId(id), `checkout-${id}`, `order-${id}`];
  const texts = await Promise.all(ids.map((workflowId) => storedText(stack.client.workflow.getHandle(workflowId))));
  // Payloads are decoded.
  expect(texts[0]).toContain(`\\"${id}\\"`);
  return texts.join('\n');
}

test('an applicant is written of the review, the decision and the agreement, each once, and Temporal holds none of it', async () => {
  const mail = await serve();
  const email = 'annie@review.example';
  let answer: LenderAnswer = REFERRED;
  answers.set(email, () => answer);
  const { id, url, customer } = await order();
  const referred = await customer.apply({ email });
  expect(referred.text.replace(/\s+/g, ' ')).toContain('We write to a…@review.example when it is decided.');
  const review = await expectMail(mail, 'review', email);
  expect(review.headers).toMatchObject({
    from: 'Test Shop Ltd <no-reply@pay.example>',
    to: email,
    subject: 'Your application is being reviewed',
    'auto-submitted': 'auto-generated',
  });
  expect(review.id).toMatch(new RegExp(`^<review\\.\\d+\\.${id}@pay\\.example>$`));
  expect(review.text).toContain('Your order at Test Shop Ltd: £1,234.50, order reference HP-');
  answer = APPROVED;
  const decided = await expectMail(mail, 'decided', email);
  for (const text of [decided.text, decided.html]) expect(text).toContain(url);
  await customer.look();
  await customer.submit('confirmation', { agree: 'yes' });
  expect(await statusOfOrder(stack, id)).toBe('SUCCESSFUL');
  const agreed = await expectMail(mail, 'agreed', email);
  for (const part of [
    'Bloggs & Daughters Ltd',
    '01234567',
    '£1,260.00',
    'Interest at 12% a year: £25.50',
    'in 3 payments',
  ])
    expect(agreed.text).toContain(part);
  expect(agreed.html).toContain('Bloggs &amp; Daughters Ltd');
  expect(agreed.text).not.toContain('&amp;');
  await until(
    async () => (await stack.client.workflow.getHandle(mailWorkflowId(id)).describe()).status.name === 'COMPLETED',
    'the mail workflow ends',
  );
  expect(kinds(mail)).toEqual(['review', 'decided', 'agreed']);
  const text = await storedTexts(id);
  for (const secret of ['annie', 'review.example', 'Bloggs', '01234567', '/pay/', new URL(url).pathname.split('/')[2]!])
    expect(text).not.toContain(secret);
});

test('an order with an application that closes is written about, and one without is not', async () => {
  const mail = await serve();
  const email = 'carol@cancel.example';
  answers.set(email, () => REFERRED);
  const [one, other] = [await order(), await order()];
  await other.customer.look();
  await one.customer.apply({ email });
  await expectMail(mail, 'review', email);
  for (const { id } of [one, other]) await stack.api.cancel(id);
  const closed = await expectMail(mail, 'closed', email);
  expect(closed.text).toContain('Test Shop Ltd cancelled it on');
  expect(closed.text).toContain('you owe nothing for this order');
  expect(mail.mails.every(({ to }) => to[0] === email)).toBe(true);
});

test('a link to continue goes to the address of the application, whoever asks', async () => {
  const mail = await serve();
  const email = 'dora@link.example';
  const { url, customer } = await order();
  await customer.apply({ email });
  const other = customerAt(url);
  await other.look();
  const page = await other.submit('continue', {});
  expect(page.text.replace(/\s+/g, ' ')).toContain('We are sending a link to the address in the application.');
  expect(page.text).not.toContain('link.example');
  const link = linkIn(await expectMail(mail, 'link', email));
  expect((await useLink(other, link)).heading).toBe('You are approved');
});

test('while the mail server is down, applications are decided and orders complete, and the mail goes when it is back', async () => {
  const email = 'eve@down.example';
  const { id, customer } = await order();
  const startedAt = Date.now();
  expect((await customer.apply({ email })).heading).toBe('You are approved');
  await customer.submit('confirmation', { agree: 'yes' });
  expect(await statusOfOrder(stack, id)).toBe('SUCCESSFUL');
  expect(Date.now() - startedAt).toBeLessThan(30_000);
  const failing = await until(async () => {
    const { raw } = await stack.client.workflow
      .getHandle(mailWorkflowId(id))
      .describe()
      .catch(() => ({ raw: undefined }));
    return raw?.pendingActivities?.find(({ attempt }) => (attempt ?? 0) > 1);
  }, 'the mail is retried');
  expect(failing.lastFailure?.message).toMatch(
    /^the mail server did not take the mail: ESOCKET|ECONNREFUSED|ECONNECTION/,
  );
  expect((await stack.client.workflow.getHandle(`checkout-${id}`).describe()).status.name).toBe('COMPLETED');
  const mail = await serve();
  await expectMail(mail, 'agreed', email);
  expect(mail.mails.filter(({ to }) => to[0] === email).map(kindOf)).toEqual(['agreed']);
});

test('a receiver that the mail server refuses is tried once, and its address stays out of Temporal', async () => {
  const mail = await serve({ refuseWith: 550 });
  const email = 'frank@unknown.example';
  answers.set(email, () => REFERRED);
  const { id, customer } = await order();
  await customer.apply({ email });
  await until(
    async () =>
      (
        await stack.client.workflow
          .getHandle(mailWorkflowId(id))
          .describe()
          .catch(() => undefined)
      )?.status.name === 'COMPLETED',
    'it is given up',
  );
  expect(timesTo(mail, email)).toBe(1);
  expect(await storedTexts(id)).not.toMatch(/frank|unknown\.example|no mailbox/);
  await stack.api.cancel(id);
});

test('a refusal that may end is repeated', async () => {
  const busy = await serve({ refuseWith: 451 });
  const email = 'grace@later.example';
  answers.set(email, () => REFERRED);
  const { id, customer } = await order();
  await customer.apply({ email });
  await until(() => timesTo(busy, email) > 1, 'it is tried again');
  expect(await storedTexts(id)).not.toMatch(/grace|later\.example/);
  await busy.stop();
  await expectMail(await serve(), 'review', email);
  await stack.api.cancel(id);
});

test('a mail server that accepts slowly delays no application', async () => {
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  const mail = await serve({ beforeAnswer: () => released });
  const customers = await Promise.all(
    Array.from({ length: 14 }, async (_, index) => {
      const email = `slow${index}@slow.example`;
      const one = await order();
      expect((await one.customer.apply({ email })).heading).toBe('You are approved');
      return { ...one, email };
    }),
  );
  await until(() => mail.mails.length === 10, 'as many mails as allowed wait for the server');
  // All the mail server's places are taken.
  const email = 'harry@slow.example';
  const { id, customer } = await order();
  const startedAt = Date.now();
  expect((await customer.apply({ email })).heading).toBe('You are approved');
  await customer.submit('confirmation', { agree: 'yes' });
  expect(await statusOfOrder(stack, id)).toBe('SUCCESSFUL');
  expect(Date.now() - startedAt).toBeLessThan(20_000);
  expect(mail.mails.length).toBe(10);
  release();
  for (const one of customers) await expectMail(mail, 'decided', one.email);
  await expectMail(mail, 'agreed', email);
}, 120_000);
