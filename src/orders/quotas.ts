import type { Logger } from 'pino';
import { repeatJobs } from '../concurrency';
import { Problem } from '../contracts/problem';
import { type Usage, addUsage } from '../db/account-usage';
import type { Db } from '../db/pool';
import type { Seller } from '../db/sellers';

const SUM_MS = 5000;
const DAY_MS = 86_400_000;
const NONE: Usage = { orders: 0, bytes: 0 };

/** What an account may create on one day (UTC), unless it has limits of its own. */
type QuotaSettings = Record<'live' | 'sandbox', Usage>;
export type Quotas = ReturnType<typeof createQuotas>;

const today = (): number => Math.floor(Date.now() / DAY_MS);
const plus = (one: Usage, other: Usage): Usage => ({
  orders: one.orders + other.orders,
  bytes: one.bytes + other.bytes,
});

/**
 * Limits what each account creates on one day, so that none fills the disk of the others. Counted in each process and
 * summed in Postgres every few seconds: no order waits for a count, and some more may get through.
 */
export function createQuotas(settings: QuotaSettings, db: Db, log: Logger, everyMs = SUM_MS) {
  /** Of all processes, as last summed. */
  const totals = new Map<string, Usage>();
  let day = today();
  /** By this process since then. */
  let added = new Map<string, Usage>();
  const add = (id: string, usage: Usage): unknown => added.set(id, plus(added.get(id) ?? NONE, usage));

  async function sum(): Promise<void> {
    const summed = added;
    if (summed.size === 0) return;
    added = new Map();
    try {
      for (const [id, usage] of await addUsage(db, summed)) totals.set(id, usage);
    } catch (error) {
      for (const [id, usage] of summed) add(id, usage);
      throw error;
    }
  }
  const stop = repeatJobs([[sum, everyMs]], log);

  return {
    /** @throws Problem `quota_exceeded` */
    check({ id, sandbox, ordersPerDay, bytesPerDay }: Seller): void {
      if (day !== today()) [totals, added].forEach((usages) => usages.clear());
      day = today();
      const used = plus(totals.get(id) ?? NONE, added.get(id) ?? NONE);
      const defaults = settings[sandbox ? 'sandbox' : 'live'];
      const limits = { orders: ordersPerDay ?? defaults.orders, bytes: bytesPerDay ?? defaults.bytes };
      const unit = (['orders', 'bytes'] as const).find((one) => used[one] >= limits[one]);
      if (unit === undefined) return;
      const what = unit === 'orders' ? unit : 'bytes of orders';
      const detail = `Your account may create ${limits[unit]} ${what} a day (UTC), and has. Nothing changed.`;
      const retryAfterS = Math.ceil(((day + 1) * DAY_MS - Date.now()) / 1000);
      throw new Problem('quota_exceeded', detail, { retryAfterS });
    },

    /** Counts a new order. @param facts what is stored of it */
    count: (sellerId: string, facts: object): unknown =>
      add(sellerId, { orders: 1, bytes: Buffer.byteLength(JSON.stringify(facts)) }),

    async stop(): Promise<void> {
      await stop();
      await sum().catch((error: unknown) => log.warn({ err: error }, 'the last orders are missing in the quotas'));
    },
  };
}
