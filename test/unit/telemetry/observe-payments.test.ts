import type { PaymentStatus } from '../../../src/domain/payment';
import { type PaymentProvider, PaymentProviderUnavailable } from '../../../src/payments/payment-provider';
import { registry } from '../../../src/telemetry/metrics';
import { observePayments } from '../../../src/telemetry/observe-payments';
import { parseMetrics } from '../../support/prometheus';

/** A bank that rejects refunds. A class, as an adapter may be. */
class Bank implements PaymentProvider {
  readonly name = 'Open Pay';
  readonly regulation = 'Open Pay Ltd is regulated by the FCA.';
  get banks() {
    return [{ id: 'oak', name: 'Oak Bank' }];
  }
  start(): Promise<string> {
    return Promise.resolve('https://bank.example/');
  }
  statusOf(): Promise<PaymentStatus> {
    return Promise.resolve('paid');
  }
  cancel(): Promise<PaymentStatus> {
    return this.statusOf();
  }
  refund(): Promise<void> {
    return Promise.reject(new PaymentProviderUnavailable('rejected'));
  }
}

const count = async (labels: Record<string, string>) =>
  parseMetrics(await registry.metrics()).value('order_service_payment_requests_total', labels);

test('calls of a payment provider are counted by mode, call and outcome', async () => {
  const bank: PaymentProvider = new Bank();
  const { live, sandbox } = observePayments({ live: bank, sandbox: undefined });
  expect(await live!.cancel('1')).toBe('paid');
  await expect(live!.refund('1')).rejects.toThrow(PaymentProviderUnavailable);
  expect([sandbox, live!.banks[0]?.id]).toEqual([undefined, 'oak']);
  expect(await count({ mode: 'live', call: 'cancel', outcome: 'succeeded' })).toBe(1);
  expect(await count({ mode: 'live', call: 'refund', outcome: 'failed' })).toBe(1);
  expect(await count({ mode: 'live' })).toBe(2);
  expect(await count({ mode: 'sandbox' })).toBe(0);
});
