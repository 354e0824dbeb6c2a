import type { PaymentStatus } from '../../../../src/checkout/domain/payment';
import { guardPayments } from '../../../../src/checkout/payments/guard-payments';
import { type PaymentProvider, PaymentProviderUnavailable } from '../../../../src/checkout/payments/payment-provider';
import { registry } from '../../../../src/telemetry/metrics';
import { parseMetrics } from '../../../support/prometheus';

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
const { live } = guardPayments({ sandbox: undefined, live: bank }, 50);
const count = async (labels: Record<string, string>) =>
  parseMetrics(await registry.metrics()).value('order_service_payment_requests_total', labels);
const countFailed = (call: string) => count({ call, outcome: 'failed' });

test('a call of a payment provider that never ends fails after the deadline, and counts as failed', async () => {
  const failure = new PaymentProviderUnavailable('the payment provider has not answered within 50 ms');
  await expect(live!.refund('1')).rejects.toEqual(failure);
  expect(await countFailed('refund')).toBe(1);
});

test("every error of an adapter is PaymentProviderUnavailable without the adapter's text", async () => {
  const message = (kind: string) => `the payment provider's adapter failed: ${kind}`;
  await expect(live!.statusOf('1')).rejects.toEqual(new PaymentProviderUnavailable(message('TypeError')));
  await expect(live!.statusOf('1')).rejects.toMatchObject({ cause: new TypeError('fetch failed') });
  await expect(live!.start({} as never)).rejects.toEqual(new PaymentProviderUnavailable(message('RangeError')));
  expect(await countFailed('statusOf')).toBe(2);
});

test('a guarded payment provider keeps its name, banks and results', async () => {
  expect([live!.name, live!.regulation]).toEqual(['Open Pay', 'Open Pay Ltd is regulated by the FCA.']);
  expect(live!.banks).toEqual([{ id: 'oak', name: 'Oak Bank' }]);
  expect(await live!.cancel('1')).toBe('cancelled');
});

test('calls of a payment provider are counted by mode, call and outcome', async () => {
  const before = await count({ mode: 'live', call: 'cancel', outcome: 'succeeded' });
  const guarded = guardPayments({ sandbox: bank, live: bank }, 50);
  await guarded.live!.cancel('1');
  await guarded.sandbox!.cancel('1');
  expect(await count({ mode: 'live', call: 'cancel', outcome: 'succeeded' })).toBe(before + 1);
  expect(await count({ mode: 'sandbox' })).toBe(1);
});
