import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { purgeApplicantData } from '../../db/applications';
import { pruneIdempotencyKeys } from '../../db/idempotency-keys';
import { type DueOrder, finishSettled, leaseDueOrders, markRunning } from '../../db/order-work';
import type { Db } from '../../db/pool';
import { deleteExpiredSecrets } from '../../db/sellers';
import type { Order } from '../../domain/order';
import { type OrderWorkflows, ChangeRefused } from '../../temporal/order-workflows';

const BATCH = 50;
const PRUNE_BATCH = 1000;
/** One in this many sweeps purges applications and secrets: the queries scan abandoned applications and all secrets. */
const SWEEPS_PER_PURGE = 12;
/** If a sweep process dies, its orders are due again after this time. */
const LEASE_MS = 30_000;
/** A workflow has every change that is older than this, unless it was reset or restored. */
const KNOWN_AFTER_MS = 60_000;
const QUERY_TIMEOUT_MS = 2000;

/** Times in ms. */
export interface SweepOptions {
  db: Db;
  workflows: OrderWorkflows;
  log: Logger;
  intervalMs: number;
  checkAfterMs: number;
  idempotencyKeyDays: number;
  /** How long after its order has closed an application's personal data is kept. */
  applicationRetentionMs: number;
}

/**
 * Starts workflows that were never started, and resumes workflows that are missing although their order is open or has
 * an unsettled webhook: after a crash, a lost Temporal database or an operator's terminate. Also prunes old
 * Idempotency-Keys and expired webhook secrets, and purges the personal data of old applications.
 * @returns a function that stops the sweep and resolves once it has stopped
 */
export function startSweep(options: SweepOptions): () => Promise<void> {
  const { db, workflows, log, intervalMs, checkAfterMs, idempotencyKeyDays, applicationRetentionMs } = options;
  const stopping = new AbortController();

  /** Completes an order whose customer agreed while the workflow was unavailable. */
  async function complete(order: Order): Promise<void> {
    try {
      await workflows.change(order, { event: 'completed', actor: 'customer', reason: null });
    } catch (error) {
      // Another change, such as a cancel, was made first.
      if (!(error instanceof ChangeRefused)) throw error;
    }
  }

  async function resume(due: DueOrder): Promise<void> {
    const { order, changes, resendPending, applicationPending, agreementPending } = due;
    if (agreementPending) await complete(order);
    if (applicationPending) await workflows.applicationSubmitted(order);
    if (resendPending) await workflows.resendWebhooks(order);
    if (!agreementPending && !applicationPending && !resendPending) await workflows.resume(order);
    // Right after a save, the workflow may not have the change yet.
    if (Date.now() - Date.parse(changes.at(-1)?.at ?? order.createdAt) < KNOWN_AFTER_MS) return;
    const state = await workflows.query(order.id, QUERY_TIMEOUT_MS).catch(() => null);
    if (!state || state.version >= order.version) return;
    log.error(
      { order_id: order.id, row: order.version, workflow: state.version },
      'sweep: replacing a workflow that is behind its row',
    );
    await workflows.terminate(order.id, `behind the row: at version ${state.version} of ${order.version}`);
    await workflows.resume(order);
  }

  async function check(due: DueOrder): Promise<void> {
    const { order, changes, started, settled } = due;
    try {
      if (settled) {
        await finishSettled(db, order.id);
        return;
      }
      if (started) await resume(due);
      else await workflows.start({ order, changes });
      await markRunning(db, order.id, checkAfterMs);
    } catch (error) {
      log.warn({ order_id: order.id, err: error }, 'sweep: an order could not be checked, retrying later');
    }
  }

  /** @returns true if more work is due now */
  async function sweepOnce(count: number): Promise<boolean> {
    const orders = await leaseDueOrders(db, BATCH, LEASE_MS);
    await Promise.all(orders.map(check));
    const pruned = await pruneIdempotencyKeys(db, idempotencyKeyDays, PRUNE_BATCH);
    if (count % SWEEPS_PER_PURGE === 0) {
      await purgeApplicantData(db, applicationRetentionMs, PRUNE_BATCH);
      await deleteExpiredSecrets(db);
    }
    return orders.length === BATCH || pruned === PRUNE_BATCH;
  }

  async function run(): Promise<void> {
    for (let count = 0; !stopping.signal.aborted; count++) {
      let more = false;
      try {
        more = await sweepOnce(count);
      } catch (error) {
        log.warn({ err: error }, 'sweep: failed, retrying later');
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
