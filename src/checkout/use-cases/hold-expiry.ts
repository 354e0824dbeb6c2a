import { readClock } from '../../db/clock';
import type { DbClient } from '../../db/pool';
import { type Decided, type Expiring, holdUntil } from '../domain/expiry';

/** An agreement or a decision that could not be reported to the order may be reported within a day. */
export const REPORT_WITHIN_MS = 86_400_000;
/** A payment that is paid: until it is reported, however long Temporal or the orders' workers are away. */
export const PAID_HOLD_MS = 30 * 86_400_000;

/**
 * Keeps an order from expiring while its customer agrees or pays, or the lender decides. By the clock of Postgres: that of
 * this machine may be wrong.
 * @param waitMs see `holdUntil`
 */
export async function holdExpiry(
  { core, db }: { core: { holdExpiry: (orderId: string, until: Date) => Promise<void> }; db: DbClient },
  { order, application }: { order: Expiring & { id: string }; application: Decided },
  waitMs = 0,
): Promise<void> {
  if (order.expiresAt === null) return;
  const until = holdUntil(order, application, (await readClock(db)).getTime(), waitMs);
  if (until) await core.holdExpiry(order.id, until);
}
