import { setTimeout as delay } from 'node:timers/promises';
import { findApplication } from '../../../src/checkout/db/applications';
import { recordPaymentStatus } from '../../../src/checkout/db/payments';
import { createSandboxPaymentStore } from '../../../src/checkout/db/sandbox-payments';
import { findOrder } from '../../../src/db/orders';
import { createCleanup } from '../../chaos/cleanup';
import type { Part } from '../../chaos/part';
import { seeded } from '../../chaos/seeded';
import { relaunch } from '../../chaos/service-part';
import { type ChaosStack, startAll, startChaosStack } from '../../chaos/stack';
import { type Api, apiOf } from '../../support/api';
import { type Customer, customerAt, proceedCheckout, submitApplication } from '../../support/checkout';
import { openOrder, timelineOf } from '../../support/orders';
import { createSeller } from '../../support/stack';
import { until } from '../../support/until';

/**
 * For each step of the checkout, one order. While all the steps write, every process of a kind is killed. The write takes
 * effect all the same, or is lost; meanwhile, the seller, another checkout flow or the customer's browser acts, or nobody.
 * KILLED_SEEDS=10-20 runs these seeds, and prints tables.
 */

jest.setTimeout(600_000);

const [FIRST = 1, LAST = FIRST] = (process.env.KILLED_SEEDS ?? '1').split('-').map(Number);
const SEEDS = Array.from({ length: LAST - FIRST + 1 }, (_, index) => FIRST + index);
const VICTIMS = ['worker', 'API', 'Temporal', 'Postgres'] as const;
type Victim = (typeof VICTIMS)[number];

/** The write of each step, as the condition of a trigger on its table. */
const WRITES = {
  'ask the lender': ['application', 'new.decision is not null and old.decision is null'],
  refer: ['application', 'new.referred_at is not null and old.referred_at is null'],
  agree: ['application', 'new.agreed_at is not null and old.agreed_at is null'],
  'start at the bank': ['sandbox_payment', 'new.return_url is not null and old.return_url is null'],
  'ask the bank': ['payment', "new.status = 'paid' and old.status <> 'paid'"],
  'report approved': ['order_timeline', "new.event = 'approved'"],
  'report completed': ['order_timeline', "new.event = 'completed'"],
  'keep the payment': ['payment', "new.status = 'paid' and new.closed_at is not null"],
  'refund at the bank': ['sandbox_payment', 'new.refunded_at is not null'],
  'record the refund': ['payment', "new.status = 'refunded'"],
  'cancel at the bank': ['sandbox_payment', 'new.cancelled_at is not null'],
} as const;
type Step = keyof typeof WRITES;
const STEPS = Object.keys(WRITES) as Step[];

const cleanup = createCleanup();
afterAll(() => cleanup.run());
let stack: ChaosStack & { api: Api };
let lastKey = 0;

/** A write of a held step waits for the advisory lock `key`. */
beforeAll(async () => {
  const started = await startChaosStack(cleanup, false);
  const { apis, workers, apiUrls, checkoutKey, db } = started;
  // The referral outlasts the first attempt to record it.
  await relaunch([...apis, ...workers], { CHECKOUT_BASE_URL: apiUrls[0]!, SANDBOX_REFERRAL_MS: '15000' });
  const seller = await createSeller(db, undefined, { sandbox: true });
  stack = { ...started, api: apiOf(apiUrls[0]!, seller, checkoutKey) };
  await db.query('create table held (order_id uuid, step text, key int, primary key (order_id, step))');
  for (const [index, step] of STEPS.entries()) {
    const [table, condition] = WRITES[step];
    const order = table === 'sandbox_payment' ? '(select order_id from payment where id = new.id)' : 'new.order_id';
    await db.query(`
      create function hold_${index}() returns trigger language plpgsql as $$
      begin
        if ${condition} then
          perform pg_advisory_xact_lock(key) from held where step = '${step}' and order_id = ${order};
        end if;
        return new;
      end $$;
      create trigger hold_${index} before insert or update on ${table} for each row execute function hold_${index}()`);
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

interface TestOrder {
  id: string;
  customer: Customer;
  step: Step;
  /** Takes another way to the step, if there is one. */
  isOther: boolean;
}

/** Prepares an order whose checkout will do its step. @returns what makes the checkout do it */
async function prepare(testOrder: TestOrder): Promise<() => Promise<unknown>> {
  const { id, customer, step, isOther } = testOrder;
  const proceed = (): Promise<void> => proceedCheckout(stack, id);
  if (step === 'ask the lender' || step === 'refer' || (step === 'report approved' && isOther)) {
    await submitApplication(stack, id, `${step === 'refer' ? 'referred' : 'approved'}@bloggs.example`);
    return proceed;
  }
  if (step === 'agree' || (step === 'report completed' && isOther)) {
    await customer.apply();
    return () => customer.send('confirmation', { agree: 'yes' });
  }
  if (step === 'start at the bank') {
    await customer.look();
    await customer.submit('choice', { payment_term: 'PAY_NOW' });
    await customer.send('payment', { bank: 'oak' });
    return () => customer.look('bank/');
  }
  const payment = await pay(id, step !== 'cancel at the bank');
  if (step === 'refund at the bank' || step === 'record the refund') {
    await recordPaymentStatus(stack.db, payment, 'paid');
    // Another checkout flow has completed the order, or the seller has cancelled it.
    await act[isOther ? 'other flow completes' : 'seller cancels'](testOrder);
  }
  if (step === 'cancel at the bank') await act['seller cancels'](testOrder);
  return proceed;
}

/** Who does something to the order while its checkout is interrupted. */
const MEANWHILE = ['nobody', 'seller cancels', 'other flow completes', 'browser returns'] as const;
const act: Record<(typeof MEANWHILE)[number], (order: TestOrder) => Promise<unknown>> = {
  nobody: () => Promise.resolve(),
  'seller cancels': ({ id }) => answered(() => stack.api.cancel(id)),
  async 'other flow completes'({ id }) {
    for (const event of ['approved', 'completed']) await answered(() => stack.api.progress(id, event));
  },
  'browser returns': ({ customer }) => answered(() => customer.look('return/')),
};

/** Repeats a call until the service is up. */
async function answered(call: () => Promise<{ status: number }>): Promise<void> {
  const isAnswered = (): Promise<boolean> =>
    call().then(
      ({ status }) => status !== 503,
      () => false,
    );
  await until(isAnswered, 'the service answers', 120_000);
}

/** A customer who was on the way to the bank tries again, or starts another payment, and approves all that the bank has. */
async function payAtLast({ id, customer, isOther }: TestOrder): Promise<void> {
  const { db } = stack;
  if (isOther) {
    await answered(() => customer.look());
    await answered(() => customer.send('payment/cancel', {}));
    await answered(() => customer.send('payment', { bank: 'oak' }));
  }
  await answered(() => customer.look('bank/'));
  const { rows } = await db.query<{ id: string }>('select id from payment where order_id = $1', [id]);
  for (const payment of rows) await createSandboxPaymentStore(db).decide(payment.id, 'approved');
  await answered(() => customer.look('return/'));
}

interface Outcome {
  seed: number;
  victim: Victim;
  step: Step;
  /** `retried`: it had failed before the kill, and its next attempt had not begun. */
  write: 'done' | 'lost' | 'retried';
  meanwhile: (typeof MEANWHILE)[number];
  order: string;
  /** Without a payment. */
  isAgreed: boolean;
  /** Their status, and the customer's money. */
  payments: string[];
}

async function run(seed: number, victim: Victim): Promise<Outcome[]> {
  const { api, db, workers, apis, temporal, postgres } = stack;
  const random = seeded(seed, victim);
  const parts: readonly Part[] = { worker: workers, API: apis, Temporal: [temporal], Postgres: [postgres] }[victim];
  const holder = await db.connect();
  const keys = STEPS.map(() => (lastKey += 1));
  await holder.query('select pg_advisory_lock(key) from unnest($1::int[]) key', [keys]);
  const orders = await Promise.all(
    STEPS.map(async (step, index) => {
      const [end, meanwhile] = [random.pick(['done', 'lost'] as const), random.pick(MEANWHILE)];
      const [isOther, key] = [random.chance(0.5), keys[index]!];
      const id = await openOrder(stack, {}, ['signup_started']);
      await db.query('insert into held values ($1, $2, $3)', [id, step, key]);
      const customer = customerAt((await api.get(id)).body.data.order_url as string);
      const order = { id, customer, step, key, end, meanwhile, isOther };
      return { ...order, begin: await prepare(order) };
    }),
  );
  // The process that answers may be killed.
  for (const { begin } of orders) void begin().catch(() => undefined);
  const findWaiting = async (): Promise<number[]> => {
    const { rows } = await holder.query<{ key: number }>(
      "select objid::int as key from pg_locks where locktype = 'advisory' and not granted",
    );
    return rows.map(({ key }) => key);
  };
  const unseen = new Map(orders.map(({ key, step }) => [key, step]));
  await until(
    async () => {
      for (const key of await findWaiting()) unseen.delete(key);
      return unseen.size === 0;
    },
    () => `these steps write: ${[...unseen.values()].join(', ')}`,
    120_000,
  );
  const waiting = await findWaiting();
  const keysOf = (end: string): number[] => orders.filter((order) => order.end === end).map(({ key }) => key);
  // The locks end with Postgres, and so do the writes that wait for them.
  if (victim === 'Postgres') {
    await holder.query('select pg_advisory_unlock(key) from unnest($1::int[]) key', [keysOf('done')]);
    await delay(random.between(0, 20));
  }
  await Promise.all(parts.map((part) => part.end('SIGKILL')));
  // Postgres has not noticed that another process is dead.
  if (victim !== 'Postgres')
    await holder.query(
      "select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and not granted and objid = any($1::int[])",
      [keysOf('lost')],
    );
  holder.release(true);
  const acts = orders.map((order) => act[order.meanwhile](order));
  await delay(random.between(0, 3000));
  await startAll(parts);
  await Promise.all(acts);
  for (const order of orders) if (order.step === 'start at the bank') await payAtLast(order);

  const ends: Outcome[] = [];
  for (const { id, key, step, end, meanwhile } of orders) {
    const outcome = { seed, victim, step, write: waiting.includes(key) ? end : ('retried' as const), meanwhile };
    await until(() => isOver(id), `the checkout ends: ${JSON.stringify(outcome)}`, 180_000);
    ends.push({ ...outcome, ...(await endOf(id)) });
  }
  return ends;
}

/** True once the order shows what its lender, its customer and its bank have decided, and no payment is open. */
async function isOver(orderId: string): Promise<boolean> {
  const { rowCount } = await stack.db.query(
    `select from orders o left join application a on a.order_id = o.id
     where o.id = $1 and not exists (select from payment where order_id = o.id and closed_at is null)
       and (o.status in ('SUCCESSFUL', 'UNSUCCESSFUL') or o.status = 'APPROVED' and a.agreed_at is null)`,
    [orderId],
  );
  return rowCount === 1;
}

async function endOf(orderId: string): Promise<Pick<Outcome, 'order' | 'isAgreed' | 'payments'>> {
  const { db } = stack;
  const events = await timelineOf(stack, orderId);
  const completion = events.find(({ event }) => event === 'completed');
  const { status } = (await findOrder(db, orderId))!;
  for (const event of ['approved', 'completed'])
    expect(events.filter((one) => one.event === event).length).toBeLessThan(2);
  const { rows } = await db.query<{ payment: string }>(
    `select p.status || ', ' || case when s.customer = 'approved' and s.cancelled_at is null
       then case when s.refunded_at is null then 'kept' else 'returned' end else 'not taken' end as payment
     from payment p left join sandbox_payment s on s.id = p.id where p.order_id = $1 order by p.started_at`,
    [orderId],
  );
  return {
    order: completion ? `${status} by ${completion.channel}` : status,
    isAgreed: rows.length === 0 && !!(await findApplication(db, orderId))?.agreedAt,
    payments: rows.map(({ payment }) => payment),
  };
}

const RIGHT_ENDS = ['paid, kept', 'refunded, returned', 'cancelled, not taken'];

test.each(SEEDS.flatMap((seed) => VICTIMS.map((victim) => [victim, seed] as const)))(
  'a killed %s loses no decision in any step of the checkout, and keeps no money wrongly: seed %i',
  async (victim, seed) => {
    const outcomes = await run(seed, victim);
    if (process.env.KILLED_SEEDS) console.table(outcomes);
    for (const outcome of outcomes) {
      const { order, isAgreed, payments, meanwhile } = outcome;
      const kept = payments.filter((payment) => payment === 'paid, kept').length;
      const isPaid = order === 'SUCCESSFUL by hosted_checkout' && !isAgreed;
      expect({ ...outcome, kept }).toEqual({ ...outcome, kept: isPaid ? 1 : 0 });
      const wrong = payments.filter((payment) => !RIGHT_ENDS.includes(payment));
      expect({ ...outcome, wrong }).toEqual({ ...outcome, wrong: [] });
      const isComplete = order.startsWith('SUCCESSFUL');
      if (isAgreed && meanwhile !== 'seller cancels')
        expect({ ...outcome, isComplete }).toEqual({ ...outcome, isComplete: true });
    }
  },
);
