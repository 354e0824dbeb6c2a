import { setTimeout as delay } from 'node:timers/promises';
import { type Cell, expectHits } from '../cell';
import { restart } from '../part';
import { relaunch } from '../service-part';

const EXPIRES_AFTER_MS = 6000;
const ROUNDS = 3;

export const EXPIRY_CELLS: Cell[] = [
  {
    name: 'orders expire while the workers are killed',
    // Expiries are part of the load, before the fault as after it.
    warmUpMs: EXPIRES_AFTER_MS + 2000,
    endsAllOrders: true,
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
];
