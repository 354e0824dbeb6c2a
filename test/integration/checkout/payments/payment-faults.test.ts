import { EventEmitter, once } from 'node:events';
import { pino } from 'pino';
import { createCheckoutActivities } from '../../../../src/checkout/temporal/checkout-activities';
import {
  cancelPayment,
  checkPayment,
  createPayment,
  startAtBank,
} from '../../../../src/checkout/use-cases/customer-payments';
import { createSandboxPaymentStore } from '../../../../src/checkout/db/sandbox-payments';
import { type CheckoutDependencies, readCheckout } from '../../../../src/checkout/use-cases/read-checkout';
import { ensurePaymentTerm } from '../../../../src/checkout/use-cases/application';
import { createOrderCore } from '../../../../src/checkout/order-core';
import { guardPayments } from '../../../../src/checkout/payments/guard-payments';
import type { PaymentProvider } from '../../../../src/checkout/payments/payment-provider';
import { createSandboxBank } from '../../../../src/checkout/sandbox/sandbox-bank';
import { BANK_TEST_CUSTOMERS } from '../../../../src/checkout/sandbox/test-customers';
import { findOrder, commitChange } from '../../../../src/db/orders';
import type { Db } from '../../../../src/db/pool';
import { type ChangeRequest, type Order, decide } from '../../../../src/domain/order';
import { ChangeRefused, type OrderWorkflows } from '../../../../src/temporal/order-workflow-client';
import { type Seeded, seeded } from '../../../chaos/seeded';
import { useDatabase } from '../../../support/database';
import { insertNewOrder } from '../../../support/new-orders';

/**
 * One order whose customers, seller, other checkout flow, expiry, bank and worker take steps in a random order, some at
 * the same time. Any statement and any call to the bank may fail, before or after it took effect, as if the process had
 * ended there. Then everything works again, and the checkout's workflow runs to its end. PAYMENT_FAULT_SEEDS=100-200
 * runs these seeds.
 */

const [FIRST = 1, LAST = 60] = (process.env.PAYMENT_FAULT_SEEDS ?? '1-60').split('-').map(Number);
const STEPS = 14;

const database = useDatabase();

class Crash extends Error {}

/** Fails some calls, before or after they took effect. */
function createFaults(random: Seeded) {
  const faults = { rate: random.pick([0.01, 0.03, 0.08]), crashes: 0 };
  const wrap =
    <A extends unknown[], T>(call: (...args: A) => Promise<T>) =>
    async (...args: A): Promise<T> => {
      const [before, after] = [random.chance(faults.rate / 2), random.chance(faults.rate / 2)];
      if (before || after) faults.crashes += 1;
      if (before) throw new Crash('before');
      const result = await call(...args);
      if (after) throw new Crash('after');
      return result;
    };
  return { faults, wrap };
}

type Wrap = ReturnType<typeof createFaults>['wrap'];
type Query = (...args: unknown[]) => Promise<unknown>;

/** A pool whose statements fail. */
function failingDb(db: Db, wrap: Wrap): Db {
  const withQuery = <T extends object>(target: T, query: Query): T =>
    new Proxy(target, {
      get(it, name) {
        if (name === 'query') return query;
        const value: unknown = Reflect.get(it, name);
        return typeof value === 'function' ? (value.bind(it) as unknown) : value;
      },
    });
  const pool = withQuery(db, wrap(db.query.bind(db) as unknown as Query));
  const connect = async () => {
    const client = await db.connect();
    return withQuery(client, wrap(client.query.bind(client) as unknown as Query));
  };
  return new Proxy(pool, { get: (it, name) => (name === 'connect' ? connect : (Reflect.get(it, name) as unknown)) });
}

/**
 * A bank whose answers get lost, or arrive when another step has been made, and then contradict what others have been
 * told meanwhile.
 */
function failingBank(
  bank: PaymentProvider,
  { wrap, faults, gate }: ReturnType<typeof createFaults> & { gate: EventEmitter },
  random: Seeded,
): PaymentProvider {
  const late =
    <A extends unknown[], T>(call: (...args: A) => Promise<T>) =>
    async (...args: A): Promise<T> => {
      const answer = await call(...args);
      if (random.chance(2 * faults.rate)) {
        gate.emit('held');
        await once(gate, 'open');
      }
      for (let turns = random.between(0, 4); turns > 0; turns--) await new Promise(setImmediate);
      return answer;
    };
  return {
    ...bank,
    start: wrap(late((payment) => bank.start(payment))),
    statusOf: wrap(late((id) => bank.statusOf(id))),
    cancel: wrap(late((id) => bank.cancel(id))),
    refund: wrap(late((id) => bank.refund(id))),
  };
}

/** Decides on changes as the order's workflow does: one at a time, and saved before they are answered. */
function createChange(db: Db) {
  let last: Promise<unknown> = Promise.resolve();
  const change = async (orderId: string, request: ChangeRequest): Promise<Order> => {
    const stored = (await findOrder(db, orderId))!;
    const outcome = decide(stored, request, new Date().toISOString());
    if (outcome === 'refused') throw new ChangeRefused('refused');
    if (outcome !== 'repeat') await commitChange(db, orderId, outcome);
    return (await findOrder(db, orderId))!;
  };
  return (order: Pick<Order, 'id'>, request: ChangeRequest): Promise<Order> => {
    const changed = last.then(() => change(order.id, request));
    last = changed.catch(() => undefined);
    return changed;
  };
}

async function run(seed: number) {
  const { db } = database;
  const random = seeded(seed);
  const { faults, wrap } = createFaults(random);
  const gate = new EventEmitter();
  gate.setMaxListeners(100);
  const unsafeDb = failingDb(db, wrap);
  const order = await insertNewOrder(db);
  const { id, payLinkId } = order;
  const change = createChange(db);
  const workflows = {
    change: (of: Order, request: ChangeRequest) => wrap(change)(of, request),
  } as unknown as OrderWorkflows;
  const bank = createSandboxBank(createSandboxPaymentStore(db), 'https://bank.example', 0);
  const payments = guardPayments({ sandbox: undefined, live: failingBank(bank, { wrap, faults, gate }, random) });
  const deps: CheckoutDependencies = {
    core: createOrderCore({ db: unsafeDb, workflows }),
    db: unsafeDb,
    workflows: { proceed: () => Promise.resolve(), sendMails: () => Promise.resolve() },
    payments,
    hasLiveLender: true,
    settlesLater: false,
    checkoutBaseUrl: 'https://checkout.example',
    log: pino({ level: 'silent' }),
  };
  const activities = createCheckoutActivities({
    db: unsafeDb,
    callLender: () => Promise.reject(new Error('not used')),
    lenderSettlements: () => undefined,
    payments,
    core: deps.core,
    checkoutBaseUrl: deps.checkoutBaseUrl,
  });
  const browser = { browserDigest: Buffer.alloc(32, 1), ownDigests: [Buffer.alloc(32, 1)] };
  const read = () => readCheckout(deps, payLinkId);
  const tell = (event: ChangeRequest['event'], rest: Partial<ChangeRequest> = {}) =>
    change(order, { event, actor: 'checkout', channel: 'api', reason: null, ...rest });

  /** One pass of the checkout's workflow. Its steps are repeated until they succeed, in the worker's own time. */
  async function proceed(): Promise<void> {
    const step = await activities.findNextStep(id);
    const result = step === 'ask the bank' ? await activities.askBank(id) : undefined;
    if (result === 'paid') {
      const paid = { reason: null, paymentTerm: 'PAY_NOW' } as const;
      await activities.reportToOrder(id, { event: 'approved', actor: 'checkout', ...paid });
      await activities.reportToOrder(id, { event: 'completed', actor: 'customer', ...paid });
    }
    if (step === 'keep or refund' || result) await activities.settlePayments(id);
  }

  const lastPaymentId = async (): Promise<string | undefined> => {
    const { rows } = await db.query<{ id: string }>(
      'select id from payment where order_id = $1 order by started_at desc limit 1',
      [id],
    );
    return rows[0]?.id;
  };

  const steps: (() => Promise<unknown>)[] = [
    // A tab of the customer.
    async () => {
      const checkout = await read();
      await ensurePaymentTerm(deps, checkout, 'PAY_NOW');
      await createPayment(deps, await read(), random.pick(bank.banks).id, browser);
    },
    async () => {
      const checkout = await read();
      if (checkout.payment) await startAtBank(deps, checkout.payment, checkout, 'https://checkout.example/return');
    },
    async () => checkPayment(deps, await read()),
    async () => cancelPayment(deps, await read()),
    // The customer at the bank.
    async () => {
      const payment = await lastPaymentId();
      if (payment) await bank.decide(payment, random.pick(BANK_TEST_CUSTOMERS).name);
    },
    async () => {
      const payment = await lastPaymentId();
      if (payment) await bank.decide(payment, 'approved');
    },
    proceed,
    proceed,
  ];
  /** Rarer, because they close the order. */
  const endings: (() => Promise<unknown>)[] = [
    () => tell('cancel', { actor: 'seller' }),
    () => tell('expired', { actor: 'system', channel: 'workflow' }),
    // Another checkout flow, just after the customer has approved the payment.
    async () => {
      for (const step of steps.slice(0, 2)) await make(step);
      const payment = await lastPaymentId();
      if (payment) await bank.decide(payment, random.pick(['approved', 'slow']));
      await tell('approved').catch(() => undefined);
      await tell('completed');
    },
  ];

  const make = (step: () => Promise<unknown>): Promise<unknown> => step().catch(() => undefined);
  await tell('signup_started');
  await make(steps[0]!);
  const pending: Promise<unknown>[] = [];
  for (let made = 0; made < STEPS; made++) {
    const isEnding = made > 2 && random.chance(0.12);
    const chosen = Array.from({ length: random.between(1, 3) }, () => random.pick(steps));
    const held = once(gate, 'held');
    const all = Promise.all([...chosen, ...(isEnding ? [random.pick(endings)] : [])].map(make));
    pending.push(all);
    // The next steps overtake a bank whose answer is late.
    await Promise.race([all, held]);
    if (random.chance(0.4)) gate.emit('open');
  }

  faults.rate = 0;
  gate.emit('open');
  await Promise.all(pending);
  for (let pass = 0; pass < 4; pass++) await make(proceed);
  if ((await findOrder(db, id))!.status !== 'SUCCESSFUL') await make(() => tell('cancel', { actor: 'seller' }));
  for (let pass = 0; pass < 4; pass++) await proceed();
  return { crashes: faults.crashes, ...(await facts(id)) };
}

async function facts(id: string) {
  const { rows } = await database.db.query<{ status: string; isClosed: boolean; isKept: boolean }>(
    `select p.status, p.closed_at is not null as "isClosed", coalesce(b.customer in ('approved', 'slow')
       and b.return_url is not null and b.cancelled_at is null and b.refunded_at is null, false) as "isKept"
     from payment p left join sandbox_payment b using (id) where order_id = $1`,
    [id],
  );
  const { status, changes } = (await findOrder(database.db, id))!;
  const completion = changes.find(({ event }) => event === 'completed');
  return { status, completedBy: completion?.channel, payments: rows };
}

const outcomes = new Map<string, number>();
let crashes = 0;

test.each(Array.from({ length: LAST - FIRST + 1 }, (_, index) => FIRST + index))(
  'no money is kept for an order that it has not completed, and none is taken twice: seed %i',
  async (seed) => {
    const found = await run(seed);
    const kept = found.payments.filter(({ isKept }) => isKept);
    const isPaid = found.status === 'SUCCESSFUL' && found.completedBy === 'hosted_checkout';
    expect(found).toMatchObject({ payments: found.payments.map(() => ({ isClosed: true })) });
    expect({ ...found, kept: kept.length }).toMatchObject({ kept: isPaid ? 1 : 0 });
    // What the customer reads agrees with the bank.
    for (const { status, isKept } of found.payments) expect([status === 'paid', isKept]).toEqual([isKept, isKept]);
    crashes += found.crashes;
    const outcome = `${found.status} by ${found.completedBy ?? 'nobody'}, refunds: ${found.payments.some(({ status }) => status === 'refunded')}`;
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
  },
);

test('the seeds cover paid, refunded and otherwise completed orders, and many faults', () => {
  if (process.env.PAYMENT_FAULT_SEEDS) console.log({ crashes, ...Object.fromEntries(outcomes) });
  const all = [...outcomes.keys()].join('\n');
  expect(all).toMatch(/SUCCESSFUL by hosted_checkout, refunds: false/);
  expect(all).toMatch(/SUCCESSFUL by api, refunds: true/);
  expect(crashes).toBeGreaterThan(100);
});
