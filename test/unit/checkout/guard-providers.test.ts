import { NO_OFFER } from '../../../src/checkout/domain/application';
import type { PaymentStatus } from '../../../src/checkout/domain/payment';
import { LenderBusy, guardLenders } from '../../../src/checkout/lender/guard-lenders';
import { guardPayments } from '../../../src/checkout/payments/guard-payments';
import {
  type Lender,
  type LenderAnswer,
  type LenderApplication,
  LenderUnavailable,
} from '../../../src/checkout/lender/lender';
import { createLogger } from '../../../src/logger';
import { type PaymentProvider, PaymentProviderUnavailable } from '../../../src/checkout/payments/payment-provider';
import { registry } from '../../../src/telemetry/metrics';
import { parseMetrics } from '../../support/prometheus';

const read = async (name: string, labels: Record<string, string>) =>
  parseMetrics(await registry.metrics()).value(`order_service_${name}`, labels);

describe('lenders', () => {
  const APPLICATION = { amountPence: 123_450, returnUrl: 'https://pay.example/pay/1/return/' } as LenderApplication;
  const lenderThat = (decide: Lender['decide']): Lender => ({ reviewTime: '', quote: () => NO_OFFER, decide });
  const failing = lenderThat(() => Promise.reject(new LenderUnavailable('an outage')));
  const working = lenderThat(() => Promise.resolve({ kind: 'referred', askAgainMs: 1 }));

  test('further calls are refused until one of the running calls has ended, with an answer or an error', async () => {
    const calls: { resolve: (answer: LenderAnswer) => void; reject: (error: Error) => void }[] = [];
    const live = lenderThat(() => new Promise((resolve, reject) => calls.push({ resolve, reject })));
    const ask = guardLenders({ sandbox: working, live }, { maxCalls: 2 });
    const decide = () => ask(false, APPLICATION);
    const [first, second] = [decide(), decide()];
    await expect(decide()).rejects.toThrow(new LenderBusy("2 other applications wait for the lender's answer"));
    expect(await ask(true, APPLICATION)).toMatchObject({ kind: 'referred' });
    calls[0]!.resolve({ kind: 'failed' });
    expect(await first).toEqual({ kind: 'failed' });
    const third = decide();
    await expect(decide()).rejects.toThrow(LenderBusy);
    calls[1]!.reject(new Error('down'));
    await expect(second).rejects.toThrow("the lender's adapter failed: Error");
    const fourth = decide();
    for (const call of calls) call.resolve({ kind: 'failed' });
    expect(await Promise.all([third, fourth])).toEqual([{ kind: 'failed' }, { kind: 'failed' }]);
  });

  test('answers of the sandbox lender are counted apart from those of the live lender', async () => {
    const ask = guardLenders({ sandbox: working, live: failing });
    const before = await read('lender_requests_total', { mode: 'live', outcome: 'unavailable' });
    await expect(ask(false, APPLICATION)).rejects.toThrow('an outage');
    await ask(true, APPLICATION);
    expect(await read('lender_requests_total', { mode: 'live', outcome: 'unavailable' })).toBe(before + 1);
    expect(await read('lender_requests_total', { mode: 'live', outcome: 'referred' })).toBe(0);
  });

  const instalments = [{ dueInMonths: 1, amountPence: 123_450 }];
  const approved = (offer: unknown) => ({ kind: 'approved', offer });
  const acting = (url: string) => ({ kind: 'action_required', url, askAgainMs: 5000 });
  const ask = (answer: unknown) =>
    guardLenders({ sandbox: undefined, live: lenderThat(() => Promise.resolve(answer as LenderAnswer)) })(
      false,
      APPLICATION,
    );

  test.each<[answer: unknown, reason: string]>([
    [undefined, 'the value'],
    [{ kind: 'maybe' }, 'kind'],
    [approved({ instalments: [] }), 'offer.instalments'],
    [approved({ instalments: [{ dueInMonths: 1, amountPence: 100 }] }), 'offer: the instalments do not repay'],
    [approved({ instalments: [{ dueInMonths: 1, amountPence: 123_450.5 }] }), 'offer.instalments.0.amountPence'],
    [approved({ instalments: [{ dueInMonths: 0, amountPence: 123_450 }] }), 'offer.instalments.0.dueInMonths'],
    [approved({ instalments: [...instalments, ...instalments] }), 'offer.instalments: must be in the order'],
    [approved({ instalments, annualInterest: Number.NaN }), 'offer.annualInterest'],
    [approved({ instalments, promotion: { name: 'Free', interestFreeDays: 1e9 } }), 'offer.promotion.interestFreeDays'],
    [{ kind: 'declined', code: 'jo@example.com' }, 'code'],
    [{ kind: 'referred', askAgainMs: 0 }, 'askAgainMs'],
    [acting('javascript:alert(1)'), 'url'],
    [acting('http://acme.example/jo@example.com'), 'url'],
  ])('the answer %j is a failure of the adapter, whose message has none of its values', async (answer, reason) => {
    const failure: unknown = await ask(answer).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(LenderUnavailable);
    const { message } = failure as Error;
    expect(message.startsWith(`the lender's adapter returned an invalid answer: ${reason}`)).toBe(true);
    expect(message).not.toContain('jo@');
  });

  test('the lender is asked again after 5 seconds to a day, whatever it says', async () => {
    const waits = await Promise.all([1, 60_000, 1e15].map((askAgainMs) => ask({ kind: 'referred', askAgainMs })));
    expect(waits).toMatchObject([{ askAgainMs: 5000 }, { askAgainMs: 60_000 }, { askAgainMs: 86_400_000 }]);
  });

  test.each(['https://acme.example/1', 'http://127.0.0.1:8080/1', 'https://pay.example/pay/1/sandbox-lender/'])(
    'customers can be sent to %s',
    async (url) => expect(await ask(acting(url))).toEqual(acting(url)),
  );

  test('a failure is logged with its class, code and frames, and without its message', async () => {
    const cause = Object.assign(new Error('jo@example.com'), { code: 'ECONNREFUSED' });
    const live = lenderThat(() => Promise.reject(new TypeError('jo@example.com\n    at jo@example.com:1', { cause })));
    const lines: string[] = [];
    const log = createLogger('warn', 'test', { write: (line) => void lines.push(line) });
    await expect(guardLenders({ sandbox: undefined, live }, { log })(false, APPLICATION)).rejects.toThrow('TypeError');
    expect(lines).toHaveLength(1);
    expect(lines[0]).not.toContain('jo@');
    expect(JSON.parse(lines[0]!)).toMatchObject({
      msg: "the lender's adapter failed: TypeError",
      error: { type: 'TypeError', at: expect.arrayContaining([expect.stringContaining('guard-providers.test')]) },
      cause: { type: 'Error', code: 'ECONNREFUSED' },
    });
  });
});

describe('payment providers', () => {
  /** A class, as an adapter may be. */
  class Bank implements PaymentProvider {
    readonly name = 'Open Pay';
    readonly regulation = 'Open Pay Ltd is regulated by the FCA.';
    get banks() {
      return [{ id: 'oak', name: 'Oak Bank' }];
    }
    start(): Promise<string> {
      throw new RangeError('£20 of jo@example.com');
    }
    statusOf(): Promise<PaymentStatus> {
      return Promise.reject(new TypeError('fetch failed'));
    }
    cancel(): Promise<PaymentStatus> {
      return Promise.resolve('cancelled');
    }
    refund(): Promise<void> {
      return new Promise(() => undefined);
    }
  }
  const bank: PaymentProvider = new Bank();
  const { live } = guardPayments({ sandbox: undefined, live: bank }, { deadlineMs: 50 });
  const count = (labels: Record<string, string>) => read('payment_requests_total', labels);
  const countFailed = (call: string) => count({ call, outcome: 'failed' });

  test('a call that never ends fails after the deadline, and counts as failed', async () => {
    const failure = new PaymentProviderUnavailable('the payment provider has not answered within 50 ms');
    await expect(live!.refund('1')).rejects.toEqual(failure);
    expect(await countFailed('refund')).toBe(1);
  });

  test("every error of an adapter is PaymentProviderUnavailable without the adapter's text", async () => {
    const message = (kind: string) => `the payment provider's adapter failed: ${kind}`;
    await expect(live!.statusOf('1')).rejects.toEqual(new PaymentProviderUnavailable(message('TypeError')));
    await expect(live!.start({} as never)).rejects.toEqual(new PaymentProviderUnavailable(message('RangeError')));
    expect(await countFailed('statusOf')).toBe(1);
  });

  test('an address that is no web page fails the start', async () => {
    const start: PaymentProvider['start'] = () => Promise.resolve('javascript:alert(1)');
    const guarded = guardPayments({ sandbox: undefined, live: { ...bank, start } });
    await expect(guarded.live!.start({ returnUrl: 'https://pay.example/' } as never)).rejects.toEqual(
      new PaymentProviderUnavailable(
        "the payment provider's adapter returned an invalid answer: the value: must be an https URL, or http on this machine",
      ),
    );
  });

  test('a guarded payment provider keeps its name, banks and results', async () => {
    expect([live!.name, live!.regulation]).toEqual(['Open Pay', 'Open Pay Ltd is regulated by the FCA.']);
    expect(live!.banks).toEqual([{ id: 'oak', name: 'Oak Bank' }]);
    expect(await live!.cancel('1')).toBe('cancelled');
  });

  test.each([
    { reference: '', feePence: 0, payoutDate: '2026-12-03' },
    { reference: 'PO 1', feePence: 0.5, payoutDate: '2026-12-03' },
    { reference: 'PO 1', feePence: -1, payoutDate: '2026-12-03' },
    { reference: 'PO 1', feePence: 0, payoutDate: '3 December' },
  ])('the settlement %j is refused', async (settlement) => {
    const guarded = guardPayments({
      sandbox: undefined,
      live: { ...bank, settlementOf: () => Promise.resolve(settlement) },
    });
    await expect((guarded.live as PaymentProvider).settlementOf!('1')).rejects.toThrow(
      /invalid answer: (reference|feePence|payoutDate): /,
    );
  });

  test('a provider that names no settlements has no such call', () => {
    expect(guardPayments({ sandbox: undefined, live: bank }).live).not.toHaveProperty('settlementOf');
  });

  test('calls are counted by mode, call and outcome', async () => {
    const before = await count({ mode: 'live', call: 'cancel', outcome: 'succeeded' });
    const guarded = guardPayments({ sandbox: bank, live: bank });
    await guarded.live!.cancel('1');
    await guarded.sandbox!.cancel('1');
    expect(await count({ mode: 'live', call: 'cancel', outcome: 'succeeded' })).toBe(before + 1);
    expect(await count({ mode: 'sandbox' })).toBe(1);
  });
});
