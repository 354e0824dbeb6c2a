import type { OrderStatus } from '../domain/status';
import type { OrderChange } from '../domain/order';
import { type StoredOrderRow, CHANGES, STARTED, toChanges } from './find-orders';
import { SETTLED } from './order-work';
import type { DbClient } from './pool';

/** The part of an order's row that must match its workflow. */
export interface StoredOrderState {
  id: string;
  sellerId: string;
  version: number;
  status: OrderStatus;
  cancelledAt: Date | null;
  createdAt: Date;
  /** True once its workflow has been started. */
  started: boolean;
  settled: boolean;
  /** True if a request to the workflow is not passed on yet. The orders of a bulk resend take turns. */
  requestsWait: boolean;
  changes: OrderChange[];
}

type StateRow = Omit<StoredOrderState, 'changes'> & Pick<StoredOrderRow, 'changes'>;

const toState = (row: StateRow): StoredOrderState => ({ ...row, changes: toChanges(row.changes) });

const STATE_COLUMNS = `o.id, o.seller_id as "sellerId", o.version, o.status, o.cancelled_at as "cancelledAt",
  o.created_at as "createdAt", ${STARTED} as started,
  ${SETTLED} as settled,
  exists (select from order_work w where w.order_id = o.id and w.requests > w.requests_passed_on) as "requestsWait",
  ${CHANGES} as changes`;

const FIRST_ID = '00000000-0000-0000-0000-000000000000';

export interface OrderSelection {
  sellerId?: string | undefined;
  /** Only orders that were created or changed at or after this time. */
  since?: Date | undefined;
}

/** Reads the selected orders in pages, so that any number of orders needs little memory and only short statements. */
export async function* orderStatesByPage(
  db: DbClient,
  { sellerId, since }: OrderSelection,
  size: number,
): AsyncGenerator<StoredOrderState[]> {
  let last = FIRST_ID;
  for (;;) {
    // The page is limited before it is filtered, so that a statement stays short if few of many orders have changed.
    const { rows } = await db.query<StateRow & { selected: boolean }>(
      `select ${STATE_COLUMNS}, ($3::timestamptz is null
         or exists (select from order_timeline t where t.order_id = o.id and t.at >= $3)) as selected
       from orders o where o.id > $1 and ($2::uuid is null or o.seller_id = $2) order by o.id limit $4`,
      [last, sellerId, since, size],
    );
    const next = rows.at(-1)?.id;
    if (next === undefined) return;
    yield rows.filter(({ selected }) => selected).map(toState);
    last = next;
  }
}

export async function findOrderStates(db: DbClient, orderIds: readonly string[]): Promise<StoredOrderState[]> {
  const { rows } = await db.query<StateRow>(`select ${STATE_COLUMNS} from orders o where id = any($1)`, [orderIds]);
  return rows.map(toState);
}
