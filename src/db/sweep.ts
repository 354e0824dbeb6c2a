import { AGREEMENT_WAITS, APPLICATION_WAITS } from './applications';
import type { OrderRow, StoredOrder } from './orders';
import { ORDER_COLUMNS, toStoredOrder } from './orders';
import type { DbClient } from './pool';

/** An order for the sweep to look after. */
export interface DueOrder extends StoredOrder {
  /** Whether its workflow has webhooks to send once more. */
  resendAsked: boolean;
  /** Whether its workflow has the lender to ask for a decision. */
  applicationWaits: boolean;
  /** Whether its customer has agreed to what completes it. */
  agreementWaits: boolean;
}

interface DueRow {
  resend_asked: boolean;
  application_waits: boolean;
  agreement_waits: boolean;
}

/**
 * The orders whose workflow is due to be started or looked after, each handed to one sweep for `leaseMs`; one whose
 * sweep dies comes back after that.
 */
export async function leaseDueOrders(db: DbClient, limit: number, leaseMs: number): Promise<DueOrder[]> {
  const { rows } = await db.query<OrderRow & DueRow>(
    `with due as (
       select id from orders where sweep_at <= now() order by sweep_at limit $1 for update skip locked
     ), leased as (
       update orders set sweep_at = now() + $2 * interval '1 ms' where id in (select id from due) returning id
     )
     select ${ORDER_COLUMNS},
       exists (select from webhook_event e where e.order_id = o.id and e.resend_at is not null) as resend_asked,
       ${APPLICATION_WAITS} as application_waits, ${AGREEMENT_WAITS} as agreement_waits
     from orders o where id in (select id from leased)`,
    [limit, leaseMs],
  );
  return rows.map((row) => ({
    ...toStoredOrder(row),
    resendAsked: row.resend_asked,
    applicationWaits: row.application_waits,
    agreementWaits: row.agreement_waits,
  }));
}

/**
 * Notes that an order's workflow runs. It is looked after again in `checkAfterMs`, an older order less and less often
 * (after as long as it has lived, a day at the most), so that abandoned orders cost next to nothing. One whose customer
 * has agreed meanwhile stays due.
 */
export async function markRunning(db: DbClient, orderId: string, checkAfterMs: number): Promise<void> {
  await db.query(
    `update orders o set started = true,
       sweep_at = now() + least(greatest($2 * interval '1 ms', now() - created_at), interval '1 day')
     where id = $1 and sweep_at is not null and not ${AGREEMENT_WAITS}`,
    [orderId, checkAfterMs],
  );
}

/**
 * Has the sweep look after an order soon, whose workflow is about to stop, or is missed. One that is settled is left
 * alone: nothing would ever end its being swept.
 * @returns whether it will
 */
export async function sweepSoon(db: DbClient, orderId: string): Promise<boolean> {
  const { rowCount } = await db.query(
    `update orders o set sweep_at = now() + interval '2 seconds'
     where id = $1 and (status not in ('SUCCESSFUL', 'UNSUCCESSFUL')
       or exists (select from webhook_event e where e.order_id = o.id and (e.state = 'pending' or e.resend_at is not null)))`,
    [orderId],
  );
  return rowCount === 1;
}
