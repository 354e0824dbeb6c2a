import { NO_OFFER } from '../../../src/checkout/domain/application';
import { LenderUnavailable } from '../../../src/checkout/lender/lender';
import { type Check, runChecks } from '../../provider-kit/checks';
import { createAcmeLender } from '../../provider-kit/example-lender';
import { type LenderKit, lenderChecks } from '../../provider-kit/lender-checks';
import { type PaymentKit, paymentChecks } from '../../provider-kit/payment-checks';
import * as sandbox from '../../provider-kit/sandbox';
import { useDatabase } from '../../support/database';
import { type TestServer, closedPort, startTestServer } from '../../support/listening-server';
import { useResource } from '../../support/use-resource';

const database = useDatabase();

/** A lender's API that answers by the email's first part, and keeps each decision. */
const acme = useResource<TestServer>(
  () => {
    const inReview = new Set<string>();
    return startTestServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { email, amount_pence: pence } = JSON.parse(Buffer.concat(chunks).toString()) as {
          email: string;
          amount_pence: number;
        };
        const status = email.split('@')[0];
        const isFirst = !inReview.has(request.url!);
        inReview.add(request.url!);
        const body = {
          status: status === 'in_review' && !isFirst ? 'approved' : status,
          repayments: [{ month: 1, pence }],
          customer_url: 'https://acme.example/verify/1',
        };
        response.writeHead(request.headers.authorization === 'Bearer key' ? 200 : 401).end(JSON.stringify(body));
      });
    });
  },
  (server) => server.close(),
);
const applicant = (name: string) => ({
  businessName: 'Bloggs Ltd',
  companyNumber: '01234567',
  email: `${name}@example.com`,
  monthlyTurnoverPence: 1_250_000,
});
async function acmeKit(): Promise<LenderKit> {
  return {
    lender: createAcmeLender(acme.url, 'key'),
    applicants: {
      approved: applicant('approved'),
      declined: applicant('declined'),
      failed: applicant('invalid'),
      action_required: applicant('needs_customer'),
    },
    unreachable: createAcmeLender(`http://127.0.0.1:${await closedPort()}`, 'key'),
  };
}

async function failuresOf(checks: readonly Check[]): Promise<string[]> {
  return (await runChecks(checks, () => undefined)).failed;
}

test('the sandbox lender passes every check of the kit', async () => {
  const checks = lenderChecks(sandbox.lender());
  expect(checks).toHaveLength(11);
  expect(await failuresOf(checks)).toEqual([]);
});

test('the sandbox bank passes every check of the kit', async () => {
  expect(await failuresOf(paymentChecks(sandbox.payments(database.db)))).toEqual([]);
});

test('the lender that docs/lenders/connect.md starts from passes the kit', async () => {
  expect(await failuresOf(lenderChecks(await acmeKit()))).toEqual([]);
});

const SETTLEMENT = { reference: 'PO-17', feePence: 0, payoutDate: '2026-12-03' };

const okLender = () => sandbox.lender();
const faultyLenders: [fault: string, kit: () => LenderKit, failed: RegExp][] = [
  [
    'quotes less than the amount',
    () => withLender({ quote: () => ({ instalments: [{ dueInMonths: 1, amountPence: 1 }] }) }),
    /^quote returns/,
  ],
  [
    'changes its mind',
    () => {
      let calls = 0;
      return withLender({
        decide: () =>
          Promise.resolve((calls++ % 2 ? { kind: 'failed' } : { kind: 'declined', code: 'other' }) as never),
      });
    },
    /^a repeated application/,
  ],
  ['ignores its signal', () => withLender({ decide: () => new Promise(() => undefined) }, 10), /^decide ends soon/],
  [
    'quotes the applicant in an error',
    () => {
      const decide = () => Promise.reject(new Error('jo@example.com: refused'));
      return { ...okLender(), unreachable: { ...okLender().lender, decide } };
    },
    /without the data of the applicant/,
  ],
  [
    'quotes an error response',
    () =>
      withLender({
        async decide() {
          const response = await fetch('https://acme.example/');
          throw new LenderUnavailable(`Acme answered ${await response.text()}`);
        },
      }),
    /^an error response/,
  ],
  [
    'approves without repayments',
    () => withLender({ decide: () => Promise.resolve({ kind: 'approved', offer: NO_OFFER }) }),
    /^an application is approved/,
  ],
  [
    'sends customers to a page without encryption',
    () =>
      withLender({
        decide: () => Promise.resolve({ kind: 'action_required', url: 'http://acme.example/', askAgainMs: 1 }),
      }),
    /^a customer who has to act/,
  ],
  [
    'names a settlement without a reference',
    () => withLender({ settlementOf: () => Promise.resolve({ ...SETTLEMENT, reference: '' }) }),
    /^the settlement/,
  ],
  [
    'changes its settlement',
    () => {
      let feePence = 0;
      return withLender({ settlementOf: () => Promise.resolve({ ...SETTLEMENT, feePence: feePence++ }) });
    },
    /^the settlement/,
  ],
];
function withLender(fault: Partial<LenderKit['lender']>, timeoutMs = 500): LenderKit {
  const kit = okLender();
  // The check of the signal needs an answer from neither.
  return { ...kit, timeoutMs, lender: { ...kit.lender, ...fault } };
}

test.each(faultyLenders)('the kit finds a lender that %s', async (_, kit, failed) => {
  const checks = lenderChecks(kit()).filter(({ title }) => failed.test(title));
  expect(checks).toHaveLength(1);
  expect(await failuresOf(checks)).toEqual([checks[0]!.title]);
});

test('the kit prints the causes of an error', async () => {
  const lines: string[] = [];
  const run = () => Promise.reject(new Error('fetch failed', { cause: new AggregateError([], '') }));
  await runChecks([{ title: 'a call', run }], (line) => lines.push(line));
  expect(lines).toEqual(['✗ a call\n    fetch failed: AggregateError']);
});

test.each<[fault: string, change: (kit: PaymentKit) => Partial<PaymentKit['provider']>, failed: RegExp]>([
  ['names no regulator', () => ({ regulation: '' }), /^the pages can name/],
  ['reports a new payment as paid', () => ({ statusOf: () => Promise.resolve('paid') }), /not been started is pending/],
  ['does not cancel', ({ provider }) => ({ cancel: (id) => provider.statusOf(id) }), /^a cancelled payment/],
  [
    'settles in euros and cents',
    () => ({ settlementOf: () => Promise.resolve({ ...SETTLEMENT, feePence: 1.5 }) }),
    /^the settlement/,
  ],
  [
    'settles what is not paid',
    () => ({ settlementOf: () => Promise.resolve(SETTLEMENT) }),
    /^a payment that is not paid/,
  ],
  ['does not refund', () => ({ refund: () => Promise.resolve() }), /^a refund/],
])('the kit finds a payment provider that %s', async (_, change, failed) => {
  const kit = sandbox.payments(database.db);
  const provider = { ...kit.provider, ...change(kit) };
  const checks = paymentChecks({ ...kit, provider, timeoutMs: 100 }).filter(({ title }) => failed.test(title));
  expect(checks).toHaveLength(1);
  expect(await failuresOf(checks)).toEqual([checks[0]!.title]);
});
