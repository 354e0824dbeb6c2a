import { randomUUID } from 'node:crypto';
import { type PaymentStatus, isInProgress } from '../../src/checkout/domain/payment';
import { checkPage, checkSettlement } from '../../src/checkout/lender/check-answer';
import type { PaymentProvider } from '../../src/checkout/payments/payment-provider';
import { type Check, must, poll } from './checks';
import { mustStay } from './lender-checks';

/** An adapter to check, and what a test customer does on the bank's page. */
export interface PaymentKit {
  provider: PaymentProvider;
  /** Approves the payment whose page is at this address. Must not fail if the payment is cancelled. */
  approve: (pageUrl: string) => Promise<void>;
  /** Time for a payment to be confirmed or refunded, in ms. Default: 60,000. */
  timeoutMs?: number;
}

const TIMEOUT_MS = 60_000;
const POLL_MS = 200;
const RETURN_URL = 'https://pay.example/pay/7a1d3b63-9b4f-4f74-8e1b-63a2a7a1b333/return/';

export function paymentChecks({ provider, approve, timeoutMs = TIMEOUT_MS }: PaymentKit): Check[] {
  const start = (id: string): Promise<string> =>
    provider.start({
      id,
      bank: provider.banks[0]!.id,
      amountPence: 1234,
      payee: 'Test Shop Ltd',
      reference: 'kit 1',
      returnUrl: RETURN_URL,
    });
  const mustBe = (status: PaymentStatus, expected: PaymentStatus): void =>
    must(status === expected, `it is ${status}, not ${expected}`);
  const settled = (id: string): Promise<PaymentStatus> =>
    poll(
      async () => {
        const status = await provider.statusOf(id);
        return isInProgress(status) ? undefined : status;
      },
      { everyMs: POLL_MS, timeoutMs, reason: 'the payment has no result' },
    );
  async function paid(): Promise<string> {
    const id = randomUUID();
    await approve(await start(id));
    mustBe(await settled(id), 'paid');
    return id;
  }

  const settlements: Check[] = [
    {
      title: 'the settlement of a paid payment is valid once it is known, and stays the same',
      async run() {
        const id = await paid();
        const settlement = async () => checkSettlement(await provider.settlementOf?.(id));
        mustStay(await settlement(), await settlement());
      },
    },
    {
      title: 'a payment that is not paid has no settlement',
      async run() {
        const id = randomUUID();
        await start(id);
        must((await provider.settlementOf?.(id)) === undefined, 'it has one');
      },
    },
  ];

  return [
    ...(provider.settlementOf ? settlements : []),
    {
      title: 'the pages can name the provider, who regulates it, and its banks',
      run() {
        must(provider.name.trim() !== '' && provider.regulation.trim() !== '', 'name or regulation is empty');
        const ids = provider.banks.map(({ id }) => id);
        must(ids.length > 0 && new Set(ids).size === ids.length, 'there is no bank, or two have one id');
        must(
          provider.banks.every(({ id, name }) => /^[\w-]+$/.test(id) && name.trim() !== ''),
          'an id has other characters than letters, digits, - and _, or a name is empty',
        );
        return Promise.resolve();
      },
    },
    {
      title: 'a payment that has not been started is pending',
      run: async () => mustBe(await provider.statusOf(randomUUID()), 'pending'),
    },
    {
      title: 'a payment that is started again, also at the same time, is the same payment',
      async run() {
        const id = randomUUID();
        const urls = await Promise.all([start(id), start(id)]);
        const url = await start(id);
        for (const page of [...urls, url]) checkPage(page, RETURN_URL);
        mustBe(await provider.statusOf(id), 'pending');
        await approve(url);
        mustBe(await settled(id), 'paid');
        await start(id);
        mustBe(await provider.statusOf(id), 'paid');
      },
    },
    {
      title: 'a cancelled payment cannot be approved',
      async run() {
        const id = randomUUID();
        const url = await start(id);
        mustBe(await provider.cancel(id), 'cancelled');
        mustBe(await provider.cancel(id), 'cancelled');
        await approve(url);
        mustBe(await settled(id), 'cancelled');
      },
    },
    {
      title: 'a payment that is cancelled before its start cannot be paid',
      async run() {
        const id = randomUUID();
        mustBe(await provider.cancel(id), 'cancelled');
        const url = await start(id).catch(() => undefined);
        if (url !== undefined) await approve(url);
        mustBe(await settled(id), 'cancelled');
      },
    },
    {
      title: 'a paid payment cannot be cancelled',
      async run() {
        const id = await paid();
        mustBe(await provider.cancel(id), 'paid');
        mustBe(await provider.statusOf(id), 'paid');
      },
    },
    {
      title: 'a refund that is repeated, also at the same time, is one refund',
      async run() {
        const id = await paid();
        await Promise.all([provider.refund(id), provider.refund(id)]);
        await provider.refund(id);
        await poll(async () => ((await provider.statusOf(id)) === 'refunded' ? true : undefined), {
          everyMs: POLL_MS,
          timeoutMs,
          reason: 'the payment is not refunded',
        });
        mustBe(await provider.cancel(id), 'refunded');
      },
    },
  ];
}
