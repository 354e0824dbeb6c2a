import type { OrderStatus } from '../../domain/status';
import type { DbClient } from '../../db/pool';
import type { PaymentStatus } from '../domain/payment';
import { MUST_BE_REVERSED } from './payments';

/** A payment as lists show it. */
export interface ListedPayment {
  id: string;
  orderId: string;
  sellerId: string;
  reference: string;
  orderStatus: OrderStatus;
  amountPence: number;
  bank: string;
  status: PaymentStatus;
  startedAt: Date;
  /** When nothing was left to do; null before that. */
  closedAt: Date | null;
}

/**
 * Lists payments, newest first.
 * @param filter `toReverse`: only payments of live accounts that have to be cancelled or refunded
 */
export async function listPayments(
  db: DbClient,
  { orderIds, toReverse = false }: { orderIds?: readonly string[] | undefined; toReverse?: boolean | undefined },
  limit: number,
): Promise<ListedPayment[]> {
  const { rows } = await db.query<ListedPayment>(
    `select p.id, p.order_id as "orderId", o.seller_id as "sellerId", o.reference, o.status as "orderStatus",
       o.amount_pence as "amountPence", p.bank, p.status, p.started_at as "startedAt", p.closed_at as "closedAt"
     from payment p join checkout_order o on o.id = p.order_id
     where ($1::uuid[] is null or p.order_id = any($1)) and (not $2 or (not o.sandbox and ${MUST_BE_REVERSED}))
     order by p.started_at desc, p.id limit $3`,
    [orderIds, toReverse, limit],
  );
  return rows;
}
