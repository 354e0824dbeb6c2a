import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { createCheckoutActivities } from '../../../../src/checkout/temporal/checkout-activities';
import type { OrderWorkflows } from '../../../../src/temporal/order-workflow-client';
import { findOrder } from '../../../../src/db/orders';
import { createOrderCore } from '../../../../src/checkout/order-core';
import {
  findLastPayment,
  findUnfinishedCheckouts,
  readPaymentBacklog,
  recordPaymentStatus,
} from '../../../../src/checkout/db/payments';
import { createSandboxPaymentStore } from '../../../../src/checkout/db/sandbox-payments';
import type { PaymentStatus } from '../../../../src/checkout/domain/payment';
import type { OrderEvent, Channel } from '../../../../src/domain/order';
import { type PaymentProvider, PaymentProviderUnavailable } from '../../../../src/checkout/payments/payment-provider';
import { refreshPayment } from '../../../../src/checkout/payments/settle-payment';
import { createSandboxBank } from '../../../../src/checkout/sandbox/sandbox-bank';
import { useDatabase } from '../../../support/database';
import { insertNewOrder, saveChanges } from '../../../support/new-orders';
import { applyEvents, atMinute, request } from '../../../support/domain-orders';

const database = useDatabase('test');

const refund = jest.fn(() => Promise.resolve());
const cancel = jest.fn<Promise<PaymentStatus>, [string]>();
beforeEach(() => {
  refund.mockClear();
  cancel.mockReset();
});
const bank = { cancel, refund } as unknown as PaymentProvider;

interface Options {
  /** Of `completed`. */
  channel?: Channel;
  /** In minutes after the order was created. */
  startedAt?: number;
  status?: PaymentStatus;
}

/** Inserts a payment of a live order whose events come one minute apart. */
async function insertPayment(
  events: readonly OrderEvent[],
  { channel = 'api', startedAt = 1.5, status = 'processing' }: Options = {},
): Promise<string> {
  const { db } = database;
  const order = await insertNewOrder(db);
  await saveChanges(db, applyEvents(order, ...events.map((event) => request(event, { channel }))));
  await db.query("insert into payment (order_id, bank, status, started_at) values ($1, 'oak', $2, $3)", [
    order.id,
    status,
    atMinute(startedAt, order.createdAt),
  ]);
  return order.id;
}

const core = () => createOrderCore({ db: database.db, workflows: {} as OrderWorkflows });

/** The checkout's activities, with this bank. */
function activitiesWith(live: PaymentProvider = bank) {
  return createCheckoutActivities({
    db: database.db,
    callLender: () => Promise.reject(new Error('not used')),
    lenderSettlements: () => undefined,
    payments: { sandbox: undefined, live },
    core: core(),
    checkoutBaseUrl: 'https://pay.example',
  });
}

/** Makes one attempt to keep or refund an order's payments, as the checkout's workflow does. */
function reverse(orderId: string, live?: PaymentProvider): Promise<boolean> {
  const environment = new MockActivityEnvironment(undefined, { logger: new DefaultLogger('ERROR') });
  return environment.run(() => activitiesWith(live).settlePayments(orderId));
}

async function paymentOf(orderId: string): Promise<{ id: string; status: PaymentStatus; isClosed: boolean }> {
  const { rows } = await database.db.query<{ id: string; status: PaymentStatus; isClosed: boolean }>(
    'select id, status, closed_at is not null as "isClosed" from payment where order_id = $1',
    [orderId],
  );
  return rows[0]!;
}
const toReverse = async () => (await readPaymentBacklog(database.db)).paymentsToReverse;

const COMPLETED: OrderEvent[] = ['signup_started', 'approved', 'completed'];
const CANCELLED: OrderEvent[] = ['signup_started', 'cancel'];
const KEPT = { status: 'paid', isClosed: true, refunds: 0 };
const REFUNDED = { status: 'refunded', isClosed: true, refunds: 1 };

test.each<[string, readonly OrderEvent[], Options, PaymentStatus, typeof KEPT]>([
  ['it has completed the order', COMPLETED, { channel: 'hosted_checkout', status: 'paid' }, 'paid', KEPT],
  [
    'it has completed the order, which a restored backup does not show',
    COMPLETED,
    { channel: 'hosted_checkout' },
    'paid',
    KEPT,
  ],
  [
    'it has completed the order, by a clock that is 50 s behind',
    COMPLETED,
    { channel: 'hosted_checkout', status: 'paid', startedAt: 3.8 },
    'paid',
    KEPT,
  ],
  ['another checkout flow completed the order through the API', COMPLETED, { channel: 'api' }, 'paid', REFUNDED],
  ['another flow completed the order after the bank had confirmed it', COMPLETED, { status: 'paid' }, 'paid', REFUNDED],
  ['somebody completed the order in Temporal', COMPLETED, { channel: 'temporal' }, 'paid', REFUNDED],
  [
    'the order was complete before the payment, as after a restore',
    COMPLETED,
    { channel: 'hosted_checkout', startedAt: 10 },
    'paid',
    REFUNDED,
  ],
  ['the order was cancelled', CANCELLED, {}, 'paid', REFUNDED],
  ['the order was cancelled after the bank had confirmed it', CANCELLED, { status: 'paid' }, 'paid', REFUNDED],
  ['the order has expired', ['signup_started', 'expired'], { channel: 'workflow' }, 'paid', REFUNDED],
  [
    'nobody approved it',
    CANCELLED,
    { status: 'pending' },
    'cancelled',
    { ...REFUNDED, status: 'cancelled', refunds: 0 },
  ],
  ['an earlier worker refunded it', CANCELLED, { status: 'paid' }, 'refunded', { ...REFUNDED, refunds: 0 }],
])('the payment of a closed order: %s', async (_, events, options, found, expected) => {
  const id = await insertPayment(events, options);
  const isKept = expected === KEPT && options.status === 'paid';
  expect(await toReverse()).toBe(isKept ? 0 : 1);
  cancel.mockResolvedValue(found);
  await reverse(id);
  const { status, isClosed } = await paymentOf(id);
  expect({ status, isClosed, refunds: refund.mock.calls.length }).toEqual(expected);
  // The bank is not asked about a payment that is known to have completed its order.
  expect(cancel.mock.calls).toHaveLength(isKept ? 0 : 1);
  expect(await toReverse()).toBe(0);
});

test('nothing happens to the payment of an open order', async () => {
  const id = await insertPayment(['signup_started', 'approved'], { status: 'paid' });
  await reverse(id);
  expect([await toReverse(), cancel.mock.calls, (await paymentOf(id)).isClosed]).toEqual([0, [], false]);
});

test('a payment that the bank still processes is refunded once it is paid', async () => {
  const id = await insertPayment(CANCELLED);
  cancel.mockResolvedValue('processing');
  await expect(reverse(id)).rejects.toMatchObject({
    message: 'the bank still processes the payment',
    nonRetryable: false,
  });
  expect([await toReverse(), refund.mock.calls]).toEqual([1, []]);
  cancel.mockResolvedValue('paid');
  await reverse(id);
  expect([(await paymentOf(id)).status, refund.mock.calls.length]).toEqual(['refunded', 1]);
});

test('a refund that fails is repeated, and the failure names the bank', async () => {
  const id = await insertPayment(CANCELLED);
  cancel.mockResolvedValue('paid');
  refund.mockRejectedValueOnce(new PaymentProviderUnavailable('the bank is down'));
  await expect(reverse(id)).rejects.toMatchObject({ type: 'BankUnavailable', message: 'the bank is down' });
  expect([await paymentOf(id), await toReverse()]).toMatchObject([{ isClosed: false }, 1]);
  await reverse(id);
  expect((await paymentOf(id)).status).toBe('refunded');
});

test('a worker that dies between a refund and its record refunds once', async () => {
  const id = await insertPayment(CANCELLED);
  const payment = (await paymentOf(id)).id;
  const sandbox = createSandboxBank(createSandboxPaymentStore(database.db), 'https://bank.example', 0);
  await sandbox.start({ id: payment, bank: 'oak', amountPence: 100, payee: '', reference: '', returnUrl: '' });
  await sandbox.decide(payment, 'approved');
  let refunds = 0;
  async function refundAndDie(paid: string): Promise<void> {
    refunds += 1;
    await sandbox.refund(paid);
    throw new Error('the worker died');
  }
  await expect(reverse(id, { ...sandbox, refund: refundAndDie })).rejects.toThrow('the worker died');
  await reverse(id, { ...sandbox, refund: refundAndDie });
  expect([(await paymentOf(id)).status, refunds, (await sandbox.find(payment))!.isRefunded]).toEqual([
    'refunded',
    1,
    true,
  ]);
});

test('a payment that the bank has reported as paid, and now as cancelled, stays in the metric and is asked about again', async () => {
  const id = await insertPayment(CANCELLED, { status: 'paid' });
  cancel.mockResolvedValue('cancelled');
  await expect(reverse(id)).rejects.toMatchObject({
    message: 'the payment provider has reported the payment as paid, and now as cancelled',
    nonRetryable: false,
  });
  expect([await paymentOf(id), refund.mock.calls, await toReverse()]).toMatchObject([
    { status: 'paid', isClosed: false },
    [],
    1,
  ]);
});

/** Asks about a payment. The bank answers "paid", but another process has recorded another answer meanwhile. */
async function refreshAfter(orderId: string, meanwhile: (paymentId: string) => Promise<unknown>) {
  const payment = (await findLastPayment(database.db, orderId))!;
  async function statusOf(): Promise<PaymentStatus> {
    await meanwhile(payment.id);
    return 'paid';
  }
  const live = { ...bank, statusOf } as PaymentProvider;
  return refreshPayment({ db: database.db, payments: { sandbox: undefined, live }, core: core() }, payment);
}

test('an answer "paid" that arrives after the payment was refunded changes nothing', async () => {
  const id = await insertPayment(['signup_started']);
  const found = await refreshAfter(id, async (payment) => {
    for (const status of ['paid', 'refunded'] as const) await recordPaymentStatus(database.db, payment, status);
  });
  expect([found, await paymentOf(id)]).toMatchObject(['refunded', { status: 'refunded', isClosed: true }]);
});

test.each<PaymentStatus>(['cancelled', 'refused'])(
  'a payment that is confirmed after it was %s is refunded, again if that fails, while its customer pays again',
  async (first) => {
    const { db } = database;
    const id = await insertPayment(['signup_started'], { startedAt: -2 });
    const found = await refreshAfter(id, (payment) => recordPaymentStatus(db, payment, first));
    expect([found, await paymentOf(id), await toReverse()]).toMatchObject([
      first,
      { status: first, isClosed: false },
      1,
    ]);
    const unfinished = await findUnfinishedCheckouts(db, 1, { sandbox: true, live: true });
    expect([unfinished[0]?.id, await activitiesWith().findNextStep(id)]).toEqual([id, 'keep or refund']);
    const { rows } = await db.query<{ id: string }>(
      "insert into payment (order_id, bank, started_at) values ($1, 'elm', now()) returning id",
      [id],
    );
    expect(await activitiesWith().findNextStep(id)).toBe('ask the bank');
    cancel.mockResolvedValue('paid');
    refund.mockRejectedValueOnce(new PaymentProviderUnavailable('the bank is down'));
    await expect(reverse(id)).rejects.toThrow('the bank is down');
    expect(await toReverse()).toBe(1);
    await reverse(id);
    const { rows: payments } = await db.query(
      'select id, status, closed_at is not null as closed from payment where order_id = $1 order by started_at',
      [id],
    );
    expect(payments).toMatchObject([
      { status: 'refunded', closed: true },
      { id: rows[0]!.id, status: 'pending', closed: false },
    ]);
    expect([refund.mock.calls.length, await toReverse()]).toEqual([2, 0]);
  },
);

describe('a bank that contradicts its final answer', () => {
  /** Answers only after `meanwhile`, as another process with another answer would. */
  const answering = (status: PaymentStatus, meanwhile: () => Promise<unknown> = () => Promise.resolve()) =>
    ({
      ...bank,
      async statusOf() {
        await meanwhile();
        return status;
      },
    }) as PaymentProvider;
  const refresh = async (orderId: string, live: PaymentProvider) =>
    refreshPayment(
      { db: database.db, payments: { sandbox: undefined, live }, core: core() },
      (await findLastPayment(database.db, orderId))!,
    );
  const saveEvents = async (orderId: string, ...events: OrderEvent[]) => {
    const order = (await findOrder(database.db, orderId))!;
    const requests = events.map((event) => request(event, { channel: 'hosted_checkout' }));
    await saveChanges(database.db, applyEvents(order, ...requests));
  };

  test.each<PaymentStatus>(['refused', 'cancelled', 'pending', 'processing'])(
    'confirmed, then %s: the payment stays paid and completes its order',
    async (later) => {
      const id = await insertPayment(['signup_started']);
      const payment = (await paymentOf(id)).id;
      const found = await refresh(
        id,
        answering(later, () => recordPaymentStatus(database.db, payment, 'paid')),
      );
      expect([found, await paymentOf(id)]).toMatchObject(['paid', { status: 'paid', isClosed: false }]);
      await saveEvents(id, 'approved', 'completed');
      await reverse(id);
      expect([await paymentOf(id), refund.mock.calls]).toMatchObject([{ status: 'paid', isClosed: true }, []]);
    },
  );

  test.each<PaymentStatus>(['refused', 'cancelled'])(
    '%s, then confirmed after the order was cancelled: the money is sent back, once',
    async (first) => {
      const id = await insertPayment(['signup_started']);
      const payment = (await paymentOf(id)).id;
      const late = answering('paid', async () => {
        await recordPaymentStatus(database.db, payment, first);
        await saveEvents(id, 'cancel');
      });
      await refresh(id, late);
      cancel.mockResolvedValue('paid');
      await reverse(id);
      expect([refund.mock.calls, (await paymentOf(id)).isClosed, await toReverse()]).toEqual([[[payment]], true, 0]);
    },
  );

  test('refused, then confirmed after another payment completed the order: only the first one is sent back', async () => {
    const id = await insertPayment(['signup_started']);
    const [first, { db }] = [(await paymentOf(id)).id, database];
    const late = answering('paid', async () => {
      await recordPaymentStatus(db, first, 'refused');
      await db.query("insert into payment (order_id, bank, status) values ($1, 'elm', 'paid')", [id]);
      await saveEvents(id, 'approved', 'completed');
      await db.query("update payment set started_at = now() - interval '1 day' where bank = 'oak' and order_id = $1", [
        id,
      ]);
    });
    await refresh(id, late);
    cancel.mockResolvedValue('paid');
    await reverse(id);
    const { rows } = await db.query<{ status: string }>(
      'select status from payment where order_id = $1 order by bank',
      [id],
    );
    expect([refund.mock.calls, rows.map(({ status }) => status)]).toEqual([[[first]], ['paid', 'refunded']]);
  });

  test('confirmed twice, to two processes at the same time: it is kept once', async () => {
    const id = await insertPayment(['signup_started']);
    const found = await Promise.all([refresh(id, answering('paid')), refresh(id, answering('paid'))]);
    await saveEvents(id, 'approved', 'completed');
    await Promise.all([reverse(id), reverse(id)]);
    expect([found, await paymentOf(id), refund.mock.calls]).toMatchObject([['paid', 'paid'], { status: 'paid' }, []]);
  });

  test('confirmed after another flow completed the order, and then refused: it is sent back, and stays so', async () => {
    const id = await insertPayment(COMPLETED);
    expect(await refresh(id, answering('paid'))).toBe('paid');
    cancel.mockResolvedValue('paid');
    await reverse(id);
    expect([(await paymentOf(id)).status, refund.mock.calls.length]).toEqual(['refunded', 1]);
    expect(await refresh(id, answering('refused'))).toBe('refunded');
  });
});
