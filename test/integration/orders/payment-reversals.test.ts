import pino from 'pino';
import { createSandboxPaymentStore } from '../../../src/db/sandbox-payments';
import type { PaymentStatus } from '../../../src/domain/payment';
import type { Channel, OrderEvent } from '../../../src/domain/status';
import { startPaymentReversals } from '../../../src/orders/background/payment-reversals';
import { type PaymentProvider, PaymentProviderUnavailable } from '../../../src/payments/payment-provider';
import { createSandboxBank } from '../../../src/payments/sandbox-bank';
import { useDatabase } from '../../support/database';
import { until } from '../../support/until';
import { atMinute, request, applyEvents } from '../../support/order-histories';
import { insertNewOrder, insertPaymentToReverse, saveHistory } from '../../support/new-orders';

const database = useDatabase('test');

const INTERVAL_MS = 100;
const log = pino({ level: 'silent' });

test('two workers retry a failing refund at growing intervals, and refund once the provider is available', async () => {
  const { db } = database;
  const id = await insertPaymentToReverse(db);
  // A call can come long after its lease, so Postgres notes the times of the leases.
  await db.query(`create table lease (at timestamptz default now());
    create function note_lease() returns trigger language plpgsql as
      $$ begin insert into lease default values; return null; end $$;
    create trigger note_lease after update of next_reversal_at on payment
      for each row execute function note_lease()`);
  let asked = 0;
  let isAvailable = false;
  const live = {
    cancel: () => Promise.resolve('paid'),
    refund() {
      asked += 1;
      return isAvailable ? Promise.resolve() : Promise.reject(new PaymentProviderUnavailable('the bank is down'));
    },
  } as unknown as PaymentProvider;
  const payments = { sandbox: undefined, live };
  const stops = [1, 2].map(() => startPaymentReversals({ db, payments, log, intervalMs: INTERVAL_MS }));
  try {
    await until(() => asked >= 4, 'the provider was asked four times');
    isAvailable = true;
    const isRefunded = async () =>
      (await db.query("select from payment where id = $1 and status = 'refunded'", [id])).rowCount === 1;
    await until(isRefunded, 'the payment is refunded');
  } finally {
    await Promise.all(stops.map((stop) => stop()));
  }
  const { rows } = await db.query<{ at: Date }>('select at from lease order by at');
  expect(rows.length).toBeGreaterThanOrEqual(asked);
  const gaps = rows.slice(1).map(({ at }, index) => at.getTime() - rows[index]!.at.getTime());
  // Times are rounded to milliseconds.
  for (const [index, gap] of gaps.entries()) expect(gap).toBeGreaterThanOrEqual(INTERVAL_MS * 2 ** index - 1);
});

/** The row of a payment. */
async function rowOf(id: string): Promise<{ status: PaymentStatus; isClosed: boolean }> {
  const { rows } = await database.db.query<{ status: PaymentStatus; isClosed: boolean }>(
    'select status, closed_at is not null as "isClosed" from payment where id = $1',
    [id],
  );
  return rows[0]!;
}

const refund = jest.fn(() => Promise.resolve());
beforeEach(() => refund.mockClear());
const bankThatReports = (cancel: () => PaymentStatus) =>
  ({ cancel: () => Promise.resolve(cancel()), refund }) as unknown as PaymentProvider;

/** Runs a worker until the payment is closed. */
async function untilClosed(id: string, live: PaymentProvider): Promise<PaymentStatus> {
  const { db } = database;
  const stop = startPaymentReversals({ db, payments: { sandbox: undefined, live }, log, intervalMs: INTERVAL_MS });
  try {
    await until(async () => (await rowOf(id)).isClosed, 'the payment is closed');
  } finally {
    await stop();
  }
  return (await rowOf(id)).status;
}

/** Inserts a payment of an order whose events come one minute apart; `completed` comes through the channel. */
async function insertPayment(
  events: OrderEvent[],
  {
    channel = 'api',
    startedAt = 1.5,
    status = 'processing',
  }: { channel?: Channel; startedAt?: number; status?: string },
): Promise<string> {
  const { db } = database;
  const history = await insertNewOrder(db);
  await saveHistory(db, applyEvents(history, ...events.map((event) => request(event, { channel }))));
  const { rows } = await db.query<{ id: string }>(
    "insert into payment (order_id, bank, status, started_at) values ($1, 'oak', $2, $3) returning id",
    [history.order.id, status, atMinute(startedAt)],
  );
  return rows[0]!.id;
}
const COMPLETED: OrderEvent[] = ['signup_started', 'approved', 'completed'];

test.each<Channel>(['hosted_checkout', 'workflow', 'sweep'])(
  'a payment that a restored backup shows as in progress is not refunded if it has completed the order: %s',
  async (channel) => {
    const id = await insertPayment(COMPLETED, { channel });
    expect([
      await untilClosed(
        id,
        bankThatReports(() => 'paid'),
      ),
      refund.mock.calls,
    ]).toEqual(['paid', []]);
  },
);

test.each<[string, { channel: Channel; startedAt?: number }]>([
  ['somebody else has reported as completed', { channel: 'api' }],
  ['was reported as completed in Temporal', { channel: 'temporal' }],
  ['was complete before the payment', { channel: 'workflow', startedAt: 10 }],
])('a payment of an order that %s is refunded', async (_, options) => {
  const id = await insertPayment(COMPLETED, options);
  expect([
    await untilClosed(
      id,
      bankThatReports(() => 'paid'),
    ),
    refund.mock.calls,
  ]).toEqual(['refunded', [[id]]]);
});

test('a payment that is paid after its order has expired is refunded', async () => {
  const id = await insertPayment(['signup_started', 'expired'], { channel: 'workflow' });
  let asked = 0;
  const slow = bankThatReports(() => ((asked += 1) < 3 ? 'processing' : 'paid'));
  expect([await untilClosed(id, slow), asked, refund.mock.calls]).toEqual(['refunded', 3, [[id]]]);
});

test('a worker that dies between a refund and its record refunds once', async () => {
  const id = await insertPayment(['signup_started', 'cancel'], {});
  const bank = createSandboxBank(createSandboxPaymentStore(database.db), 'https://bank.example', 0);
  await bank.start({ id, bank: 'oak', amountPence: 100, payee: '', reference: '', returnUrl: '' });
  await bank.decide(id, 'approved');
  let refunds = 0;
  async function refundAndDie(payment: string): Promise<void> {
    refunds += 1;
    await bank.refund(payment);
    throw new Error('the worker died');
  }
  expect(await untilClosed(id, { ...bank, refund: refundAndDie })).toBe('refunded');
  expect([refunds, (await bank.find(id))!.isRefunded]).toEqual([1, true]);
});

test('a payment that the provider has reported as paid, and now as cancelled, stays open with a warning', async () => {
  const { db } = database;
  const id = await insertPayment(['signup_started', 'cancel'], { status: 'paid' });
  const lines: string[] = [];
  const written = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
  const payments = { sandbox: undefined, live: bankThatReports(() => 'cancelled') };
  const stop = startPaymentReversals({ db, payments, log: written, intervalMs: INTERVAL_MS });
  await until(() => lines.length > 0, 'a line is logged');
  await stop();
  expect(JSON.parse(lines[0]!)).toMatchObject({
    msg: 'a payment could not be reversed, retrying later',
    err: { message: 'the payment provider has reported the payment as paid, and now as cancelled' },
  });
  expect([await rowOf(id), refund.mock.calls]).toEqual([{ status: 'paid', isClosed: false }, []]);
});
