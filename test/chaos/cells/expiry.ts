import { setTimeout as delay } from 'node:timers/promises';
import { type Cell, expectHits } from '../cell';
import type { ChaosStack } from '../stack';
import { restart } from '../part';
import { relaunch } from '../service-part';

const EXPIRES_AFTER_MS = 6000;
const ROUNDS = 3;
/** Longer than the customers of this load need until the bank has confirmed their payments. */
const PAY_WITHIN_MS = 15_000;
const AWAY_MS = 12_000;

/** Samples the holds of open orders. @returns the orders of which one has become shorter */
async function watchHolds({ db }: ChaosStack, forMs: number): Promise<{ shortened: Set<string>; held: number }> {
  const longest = new Map<string, number>();
  const shortened = new Set<string>();
  const end = performance.now() + forMs;
  while (performance.now() < end) {
    const { rows } = await db.query<{ id: string; untilMs: number }>(
      `select id, extract(epoch from held_until)::float8 * 1000 as "untilMs" from orders
       where held_until is not null and status not in ('SUCCESSFUL', 'UNSUCCESSFUL')`,
    );
    for (const { id, untilMs } of rows) {
      if (untilMs < (longest.get(id) ?? 0)) shortened.add(id);
      longest.set(id, untilMs);
    }
    await delay(100);
  }
  return { shortened, held: longest.size };
}

export const EXPIRY_CELLS: Cell[] = [
  {
    name: 'orders expire while the workers are killed',
    // Expiries are part of the load, before the fault as after it.
    warmUpMs: EXPIRES_AFTER_MS + 2000,
    prepare: ({ stack }) => relaunch(stack.apis, { ORDER_EXPIRES_AFTER_MS: String(EXPIRES_AFTER_MS) }),
    async strike({ stack, random }) {
      for (let round = 0; round < ROUNDS; round++) {
        await restart(random.pick(stack.workers), 'SIGKILL', random.between(0, 1500));
        await delay(random.between(0, 1000));
      }
      // Orders expire while no worker runs.
      await Promise.all(stack.workers.map((worker) => restart(worker, 'SIGKILL', random.between(2000, 4000))));
    },
    // Until the last order has expired: the invariants are checked at rest.
    repair: () => delay(EXPIRES_AFTER_MS),
    // What the expiry came before is refused, as with an operator's change.
    allowed: () => ({ operators: true }),
    async verify({ stack, shops }) {
      const { rows } = await stack.db.query<{ count: number }>(
        `select count(*)::integer from order_timeline t join orders o on o.id = t.order_id
         where event = 'expired' and seller_id = any($1)`,
        [shops.map(({ id }) => id)],
      );
      expectHits(rows[0]!.count, 'order expired');
      return [];
    },
  },
  {
    name: "the orders' workers are away while customers pay",
    prepare: ({ stack }) => relaunch(stack.apis, { ORDER_EXPIRES_AFTER_MS: String(PAY_WITHIN_MS) }),
    async strike({ stack, memory }) {
      // Customers are at the bank, and their payments are confirmed while no order can change.
      await relaunch(stack.workers, { WORKER_QUEUES: 'webhooks,checkout' });
      const { shortened, held } = await watchHolds(stack, AWAY_MS);
      expectHits(held, 'held order');
      memory.set('shortened', shortened);
      await relaunch(stack.workers, {});
    },
    repair: () => delay(PAY_WITHIN_MS),
    allowed: () => ({ operators: true }),
    async verify({ stack, shops, memory }) {
      const { rows } = await stack.db.query<{ orderId: string }>(
        `select o.id as "orderId" from orders o join payment p on p.order_id = o.id
           join sandbox_payment b on b.id = p.id join order_timeline t on t.order_id = o.id
         where t.event = 'expired' and b.customer = 'approved' and b.decided_at < t.at and seller_id = any($1)`,
        [shops.map(({ id }) => id)],
      );
      const shortened = [...(memory.get('shortened') as Set<string>)];
      return [
        ...rows.map(({ orderId }) => ({ orderId, fault: 'an order expired although its customer had paid' })),
        ...shortened.map((orderId) => ({ orderId, fault: 'a hold of its expiry became shorter' })),
      ];
    },
  },
];
