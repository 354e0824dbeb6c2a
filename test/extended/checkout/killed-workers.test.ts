import { findLastPayment, recordPaymentStatus } from '../../../src/checkout/db/payments';
import { createSandboxPaymentStore } from '../../../src/checkout/db/sandbox-payments';
import { findOrder } from '../../../src/db/find-orders';
import { type Seeded, seeded } from '../../chaos/seeded';
import { applied, proceedCheckout, useCheckout } from '../../support/checkout';
import { openOrder, timelineOf } from '../../support/orders';
import { killProcesses, startProcess } from '../../support/processes';
import { until } from '../../support/until';

/**
 * For each step of the checkout's workflow, one order whose worker is killed while the step writes. The write takes
 * effect all the same, or is lost; meanwhile, the seller, another checkout flow or the customer's browser acts, or
 * nobody. KILLED_WORKER_SEEDS=10-20 runs these seeds, and prints a table.
 */

jest.setTimeout(600_000);

const [FIRST = 1, LAST = 3] = (process.env.KILLED_WORKER_SEEDS ?? '1-3').split('-').map(Number);

/** The write of each step, as the condition of a trigger on its table, and the query for its order. */
const WRITES = {
  'ask the lender': ['application', 'new.decision is not null and old.decision is null', 'new.order_id'],
  'ask the bank': ['payment', "new.status = 'paid' and old.status <> 'paid'", 'new.order_id'],
  'report approved': ['order_timeline', "new.event = 'approved'", 'new.order_id'],
  'report completed': ['order_timeline', "new.event = 'completed'", 'new.order_id'],
  'keep the payment': ['payment', "new.status = 'paid' and new.closed_at is not null", 'new.order_id'],
  'refund at the bank': [
    'sandbox_payment',
    'new.refunded_at is not null',
    '(select order_id from payment where id = new.id)',
  ],
  'record the refund': ['payment', "new.status = 'refunded'", 'new.order_id'],
  'cancel at the bank': [
    'sandbox_payment',
    'new.cancelled_at is not null',
    '(select order_id from payment where id = new.id)',
  ],
} as const;
type Step = keyof typeof WRITES;
const STEPS = Object.keys(WRITES) as Step[];

const stack = useCheckout({ worker: false, env: { UPDATE_TIMEOUT_MS: '10000' } });
afterAll(() => killProcesses());

/** A write of a held step waits for the advisory lock `key`. */
beforeAll(async () => {
  const { db } = stack;
  await db.query('create table held (order_id uuid, step text, key int, primary key (order_id, step))');
  for (const [index, step] of STEPS.entries()) {
    const [table, condition, order] = WRITES[step];
    await db.query(`
      create function hold_${index}() returns trigger language plpgsql as $$
      begin
        if ${condition} then
          perform pg_advisory_xact_lock(key) from held where step = '${step}' and order_id = ${order};
        end if;
        return new;
      end $$;
      create trigger hold_${index} before ${table === 'order_timeline' ? 'insert' : 'update'} on ${table}
        for each row execute function hold_${index}()`);
  }
});

/** Starts a payment that its customer has approved at the bank, unless `isApproved` is false. */
async function pay(orderId: string, isApproved = true): Promise<string> {
  const { rows } = await stack.db.query<{ id: string }>(
    "insert into payment (order_id, bank) values ($1, 'oak') returning id",
    [orderId],
  );
  const { id } = rows[0]!;
  const bank = createSandboxPaymentStore(stack.db);
  const details = {
    bank: 'oak',
    amountPence: 123_450,
    payee: 'Shop',
    reference: 'A-1',
    returnUrl: 'https://shop.example/',
  };
  await bank.insert({ id, ...details });
  if (isApproved) await bank.decide(id, 'approved');
  return id;
}

/** Makes an order whose checkout will next do this step. */
async function orderBefore(step: Step, random: Seeded): Promise<string> {
  if (step === 'ask the lender' || (step === 'report approved' && random.chance(0.5)))
    return applied(stack, 'jo@bloggs.example', { notify: false });
  const id = await openOrder(stack, {}, ['signup_started']);
  const payment = await pay(id, step !== 'cancel at the bank');
  if (step === 'refund at the bank' || step === 'record the refund') {
    await recordPaymentStatus(stack.db, payment, 'paid');
    // Another checkout flow has completed the order, or the seller has cancelled it.
    if (random.chance(0.5)) for (const event of ['approved', 'completed']) await stack.api.progress(id, event);
    else await stack.api.cancel(id);
  }
  if (step === 'cancel at the bank') await stack.api.cancel(id);
  return id;
}

/** Who does something to the order while its worker is dead. */
const MEANWHILE = ['nobody', 'seller cancels', 'other flow completes', 'browser returns'] as const;
const act: Record<(typeof MEANWHILE)[number], (id: string) => Promise<unknown>> = {
  nobody: () => Promise.resolve(),
  'seller cancels': (id) => stack.api.cancel(id),
  async 'other flow completes'(id) {
    for (const event of ['approved', 'completed']) await stack.api.progress(id, event);
  },
  async 'browser returns'(id) {
    const { order_url: url } = (await stack.api.get(id)).body.data as { order_url: string };
    await fetch(`${url}return/`);
  },
};

interface Outcome {
  seed: number;
  step: Step;
  write: 'done' | 'lost';
  meanwhile: string;
  order: string;
  payment: string;
  money: 'none' | 'kept' | 'returned';
}

async function run(seed: number): Promise<Outcome[]> {
  const { db, env } = stack;
  const random = seeded(seed);
  let worker = await startProcess('worker', env);
  const orders: { id: string; step: Step; key: number }[] = [];
  for (const [index, step] of STEPS.entries())
    orders.push({ id: await orderBefore(step, random), step, key: 1000 * seed + index });

  const holder = await db.connect();
  await holder.query('set idle_session_timeout = 0');
  for (const { id, step, key } of orders) {
    await holder.query('insert into held values ($1, $2, $3)', [id, step, key]);
    await holder.query('select pg_advisory_lock($1)', [key]);
    await proceedCheckout(stack, id);
  }
  const waiting = async (key: number): Promise<number[]> => {
    const { rows } = await holder.query<{ pid: number }>(
      "select pid from pg_locks where locktype = 'advisory' and not granted and objid = $1",
      [key],
    );
    return rows.map(({ pid }) => pid);
  };
  for (const { key, step } of orders)
    await until(async () => (await waiting(key)).length > 0, `it writes: ${step}`, 120_000);
  await worker.signal('SIGKILL');

  const outcomes = [];
  const acts: Promise<unknown>[] = [];
  for (const { id, step, key } of orders) {
    const [write, meanwhile] = [random.pick(['done', 'lost'] as const), random.pick(MEANWHILE)];
    // Postgres has not noticed that the worker is dead.
    if (write === 'lost')
      for (const pid of await waiting(key)) await holder.query('select pg_terminate_backend($1)', [pid]);
    acts.push(act[meanwhile](id));
    outcomes.push({ id, seed, step, write, meanwhile });
  }
  for (const { key } of orders) await holder.query('select pg_advisory_unlock($1)', [key]);
  worker = await startProcess('worker', env);
  await Promise.all(acts);
  holder.release(true);

  const ends = [];
  for (const { id, ...outcome } of outcomes) {
    await until(
      async () => (await openPayments(id)) === 0 && (await isDecided(id)),
      `the checkout ends: ${JSON.stringify(outcome)}`,
      180_000,
    );
    const end = await endOf(id);
    ends.push({ ...outcome, ...end });
  }
  await worker.signal('SIGTERM');
  return ends;
}

async function openPayments(orderId: string): Promise<number> {
  const { rowCount } = await stack.db.query('select from payment where order_id = $1 and closed_at is null', [orderId]);
  return rowCount ?? 0;
}

/** True once the order shows what its lender or its bank has decided. */
async function isDecided(orderId: string): Promise<boolean> {
  const { status } = (await findOrder(stack.db, orderId))!;
  return status !== 'CREATED' && status !== 'PENDING';
}

async function endOf(orderId: string): Promise<Pick<Outcome, 'order' | 'payment' | 'money'>> {
  const payment = await findLastPayment(stack.db, orderId);
  const events = await timelineOf(stack, orderId);
  const completion = events.find(({ event }) => event === 'completed');
  const { status } = (await findOrder(stack.db, orderId))!;
  const order = completion ? `${status} by ${completion.channel}` : status;
  for (const event of ['approved', 'completed'])
    expect(events.filter((one) => one.event === event).length).toBeLessThan(2);
  if (!payment) return { order, payment: 'none', money: 'none' };
  const found = (await createSandboxPaymentStore(stack.db).find(payment.id))!;
  const money = found.customer !== 'approved' || found.isCancelled ? 'none' : found.isRefunded ? 'returned' : 'kept';
  return { order, payment: payment.status, money };
}

test.each(Array.from({ length: LAST - FIRST + 1 }, (_, index) => FIRST + index))(
  'a worker that is killed in any step of the checkout loses no decision and keeps no money wrongly: seed %i',
  async (seed) => {
    const outcomes = await run(seed);
    if (process.env.KILLED_WORKER_SEEDS) console.table(outcomes);
    for (const outcome of outcomes) {
      const isPaid = outcome.order === 'SUCCESSFUL by hosted_checkout';
      expect({ ...outcome, isKept: outcome.money === 'kept' }).toEqual({ ...outcome, isKept: isPaid });
      expect({ ...outcome, isRight: (outcome.payment === 'paid') === isPaid }).toEqual({ ...outcome, isRight: true });
      expect({ ...outcome, isRefunded: outcome.payment === 'refunded' }).toEqual({
        ...outcome,
        isRefunded: outcome.money === 'returned',
      });
    }
  },
);
