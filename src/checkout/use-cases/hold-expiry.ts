import { type Decided, type Expiring, holdUntil } from '../domain/expiry';

/** Keeps an order from expiring while its customer agrees or pays, or the lender decides. @param waitMs see `holdUntil` */
export async function holdExpiry(
  { core }: { core: { holdExpiry: (orderId: string, until: Date) => Promise<void> } },
  { order, application }: { order: Expiring & { id: string }; application: Decided },
  waitMs = 0,
): Promise<void> {
  const until = holdUntil(order, application, Date.now(), waitMs);
  if (until) await core.holdExpiry(order.id, until);
}
