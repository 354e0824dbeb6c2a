import pino from 'pino';
import { upsertPaymentTerm } from '../../../../src/checkout/db/applications';
import { findOrder, holdOrder } from '../../../../src/db/orders';
import { findLastPayment, insertPayment } from '../../../../src/checkout/db/payments';
import type { PaymentStatus } from '../../../../src/checkout/domain/payment';
import { cancelPayment, createPayment } from '../../../../src/checkout/use-cases/customer-payments';
import { holdExpiry } from '../../../../src/checkout/use-cases/hold-expiry';
import type { Checkout } from '../../../../src/checkout/domain/checkout';
import type { CheckoutDependencies } from '../../../../src/checkout/use-cases/read-checkout';
import type { PaymentProvider } from '../../../../src/checkout/payments/payment-provider';
import { NothingChanged } from '../../../../src/temporal/calls';
import { useDatabase } from '../../../support/database';
import { insertNewOrder, saveChanges } from '../../../support/new-orders';
import { applyEvents } from '../../../support/domain-orders';

const database = useDatabase();

/** A customer who pays at this bank. */
async function payingAt(bank: Pick<PaymentProvider, 'cancel'>) {
  const { db } = database;
  const order = await insertNewOrder(db);
  const { id } = order;
  await saveChanges(db, applyEvents(order, 'signup_started'));
  await upsertPaymentTerm(db, id, 'PAY_NOW');
  await insertPayment(db, id, 'oak', { browserDigest: Buffer.alloc(32), ownDigests: [] });
  const payments = { sandbox: undefined, live: bank as unknown as PaymentProvider };
  const deps = { db, payments, log: pino({ level: 'silent' }) } as unknown as CheckoutDependencies;
  const readPayment = async () => (await findLastPayment(db, id))!;
  const checkout = { order: (await findOrder(db, id))!, payment: await readPayment() } as unknown as Checkout;
  return { deps, checkout, readPayment };
}

test.each<PaymentStatus>(['paid', 'processing', 'cancelled'])(
  'a customer who chooses another bank after approving in another tab cannot start a second payment: %s',
  async (status) => {
    const { deps, checkout, readPayment } = await payingAt({ cancel: () => Promise.resolve(status) });
    await cancelPayment(deps, checkout);
    expect((await readPayment()).status).toBe(status);
    const browser = { browserDigest: Buffer.alloc(32), ownDigests: [] };
    expect(await insertPayment(deps.db, checkout.order.id, 'harbour', browser)).toBe(status === 'cancelled');
  },
);

test('an order whose customer begins to pay while Temporal is unavailable does not expire within the day', async () => {
  const { db } = database;
  const { id } = await insertNewOrder(db, {}, { expiresAfterMs: 60_000 });
  await saveChanges(db, applyEvents((await findOrder(db, id))!, 'signup_started'));
  await upsertPaymentTerm(db, id, 'PAY_NOW');
  const proceed = () => Promise.reject(new NothingChanged('down'));
  const core = { holdExpiry: (orderId: string, until: Date) => holdOrder(db, orderId, until) };
  const deps = { db, core, workflows: { proceed }, log: pino({ level: 'silent' }) } as unknown as CheckoutDependencies;
  const checkout = { order: await findOrder(db, id) } as unknown as Checkout;
  await createPayment(deps, checkout, 'oak', { browserDigest: Buffer.alloc(32), ownDigests: [] });
  const { heldUntil } = (await findOrder(db, id))!;
  expect(Date.parse(heldUntil!) - Date.now()).toBeGreaterThan(23 * 3_600_000);
});

test('a hold never becomes shorter', async () => {
  const { db } = database;
  const { id } = await insertNewOrder(db, {}, { expiresAfterMs: 60_000 });
  const tomorrow = new Date(Date.now() + 86_400_000);
  await holdOrder(db, id, tomorrow);
  await holdOrder(db, id, new Date(Date.now() + 360_000));
  expect((await findOrder(db, id))!.heldUntil).toBe(tomorrow.toISOString());
});

test('a hold is by the clock of Postgres, whatever the clock of this machine shows', async () => {
  const { db } = database;
  const { id } = await insertNewOrder(db, {}, { expiresAfterMs: 60_000 });
  const core = { holdExpiry: (orderId: string, until: Date) => holdOrder(db, orderId, until) };
  const now = Date.now();
  jest.spyOn(Date, 'now').mockReturnValue(now - 3_600_000);
  await holdExpiry({ core, db }, { order: (await findOrder(db, id))!, application: undefined });
  jest.restoreAllMocks();
  expect(Date.parse((await findOrder(db, id))!.heldUntil!) - now).toBeGreaterThan(5 * 60_000);
});
