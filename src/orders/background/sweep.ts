import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { purgeApplicantData } from '../../db/applications';
import { pruneIdempotencyKeys } from '../../db/idempotency-keys';
import type { Db } from '../../db/pool';
import type { DueOrder } from '../../db/sweep';
import { leaseDueOrders, markRunning } from '../../db/sweep';
import type { Order } from '../../domain/order';
import type { OrderWorkflows } from '../../temporal/order-workflows';
import { ChangeRefused } from '../../temporal/order-workflows';

const BATCH = 50;
const PRUNE_BATCH = 1000;
/** Old applications are looked for once in so many sweeps: those of abandoned orders are passed over each time. */
const SWEEPS_BETWEEN_DELETIONS = 12;
/** A sweep that dies gives its orders back after this. */
const LEASE_MS = 30_000;
/** What was changed longer ago than this is known to the workflow, unless that was reset or restored. */
const SETTLED_MS = 60_000;
const QUERY_TIMEOUT_MS = 2000;

export interface SweepOptions {
  db: Db;
  workflows: OrderWorkflows;
  log: Logger;
  intervalMs: number;
  checkAfterMs: number;
  /** For how long Idempotency-Keys are kept. */
  idempotencyKeyDays: number;
  /** How long after an order has closed its application is kept. */
  applicationRetentionMs: number;
}

/**
 * Starts the workflows that were never started and resumes those that are gone while their order is open or a webhook
 * unsettled: after a crash, a lost Temporal database or an operator's terminate. Forgets old Idempotency-Keys,
 * and what customers of orders that closed long ago had told.
 * @returns a function that stops it and resolves when it has
 */
export function startSweep(options: SweepOptions): () => Promise<void> {
  const { db, workflows, log, intervalMs, checkAfterMs, idempotencyKeyDays, applicationRetentionMs } = options;
  const stopping = new AbortController();

  /** The API took the customer's word and could not reach the workflow with it. */
  async function complete(order: Order): Promise<void> {
    try {
      await workflows.change(order, { event: 'completed', actor: 'customer', reason: null });
    } catch (error) {
      // Another change came first, such as a cancel: it stands.
      if (!(error instanceof ChangeRefused)) throw error;
    }
  }

  async function resume({ order, changes, resendAsked, applicationWaits, agreementWaits }: DueOrder): Promise<void> {
    if (agreementWaits) await complete(order);
    if (applicationWaits) await workflows.applicationSubmitted(order);
    if (resendAsked) await workflows.resendWebhooks(order);
    if (!agreementWaits && !applicationWaits && !resendAsked) await workflows.resume(order);
    // Right after a save the workflow may not have heard of it yet.
    if (Date.now() - Date.parse(changes.at(-1)?.at ?? order.createdAt) < SETTLED_MS) return;
    const shown = await workflows.query(order.id, QUERY_TIMEOUT_MS).catch(() => null);
    if (!shown || shown.version >= order.version) return;
    log.error(
      { order_id: order.id, row: order.version, workflow: shown.version },
      'sweep: a workflow is behind its row',
    );
    await workflows.stop(order.id, `behind the row: at version ${shown.version} of ${order.version}`);
    await workflows.resume(order);
  }

  async function ensureRunning(stored: DueOrder): Promise<void> {
    const { order, changes, started } = stored;
    try {
      if (started) await resume(stored);
      else await workflows.start({ order, changes });
      await markRunning(db, order.id, checkAfterMs);
    } catch (error) {
      log.warn({ order_id: order.id, err: error }, 'sweep: the workflow was not started; tried again later');
    }
  }

  /** @returns whether there is more to do at once */
  async function sweepOnce(count: number): Promise<boolean> {
    const orders = await leaseDueOrders(db, BATCH, LEASE_MS);
    await Promise.all(orders.map(ensureRunning));
    const pruned = await pruneIdempotencyKeys(db, idempotencyKeyDays, PRUNE_BATCH);
    if (count % SWEEPS_BETWEEN_DELETIONS === 0) await purgeApplicantData(db, applicationRetentionMs, PRUNE_BATCH);
    return orders.length === BATCH || pruned === PRUNE_BATCH;
  }

  async function run(): Promise<void> {
    for (let count = 0; !stopping.signal.aborted; count++) {
      let more = false;
      try {
        more = await sweepOnce(count);
      } catch (error) {
        log.warn({ err: error }, 'sweep: tried again later');
      }
      if (!more) await delay(intervalMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  }

  const running = run();
  return async () => {
    stopping.abort();
    await running;
  };
}
