import pino from 'pino';
import { startPaymentReturns } from '../../../src/orders/background/payment-returns';
import { type PaymentProvider, PaymentProviderUnavailable } from '../../../src/payments/payment-provider';
import { useDatabase } from '../../support/database';
import { until } from '../../support/until';
import { insertPaymentToReturn } from '../db/new-orders';

const database = useDatabase('test');

const INTERVAL_MS = 100;

test('two workers ask a provider whose refunds fail at a growing interval, and return the money when it is available', async () => {
  const { db } = database;
  const id = await insertPaymentToReturn(db);
  const askedAt: number[] = [];
  let isAvailable = false;
  const live = {
    cancel: () => Promise.resolve('paid'),
    refund() {
      askedAt.push(Date.now());
      return isAvailable ? Promise.resolve() : Promise.reject(new PaymentProviderUnavailable('the bank is down'));
    },
  } as unknown as PaymentProvider;
  const payments = { sandbox: undefined, live };
  const log = pino({ level: 'silent' });
  const stops = [1, 2].map(() => startPaymentReturns({ db, payments, log, intervalMs: INTERVAL_MS }));
  try {
    await until(() => askedAt.length === 4, 'the provider was asked four times');
    isAvailable = true;
    const isRefunded = async () =>
      (await db.query("select from payment where id = $1 and status = 'refunded'", [id])).rowCount === 1;
    await until(isRefunded, 'the payment is refunded');
  } finally {
    await Promise.all(stops.map((stop) => stop()));
  }
  const gaps = askedAt.slice(1).map((at, index) => at - askedAt[index]!);
  // A call is made a moment after its lease, so a gap can be a little shorter.
  expect(gaps.map((gap, index) => gap > 0.75 * INTERVAL_MS * 2 ** index)).toEqual([true, true, true, true]);
});
