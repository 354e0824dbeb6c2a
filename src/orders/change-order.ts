import { Problem } from '../contracts/problem';
import { type StoredOrder, findOrder } from '../db/find-orders';
import { commitChange } from '../db/save-order';
import {
  type ChangeRequest,
  type Order,
  type OrderStatus,
  decide,
  isForVersion,
  classifyEvent,
  isFinal,
} from '../domain/order';
import { NothingChanged, TooManyChanges } from '../temporal/calls';
import { reportChange } from '../telemetry/report';
import { ChangeRefused, RunClosed } from '../temporal/order-workflow-client';
import type { OrderDependencies } from './dependencies';

/** `log` is missing in the CLI, whose actions are in the audit log. */
type ChangeDependencies = Pick<OrderDependencies, 'db' | 'workflows'> & Partial<Pick<OrderDependencies, 'log'>>;

/**
 * Cancels an order for its seller, who uses the API, or for an operator, who uses the CLI.
 * @throws Problem `order_not_cancellable` if the order is SUCCESSFUL, or `precondition_failed`
 */
export async function cancelOrder(
  deps: ChangeDependencies,
  stored: StoredOrder,
  by: Omit<ChangeRequest, 'event'>,
): Promise<Order> {
  return changeOrder(deps, stored, { event: 'cancel', ...by });
}

/**
 * Applies what the checkout flow reports about its customer.
 * @param report the actor is the checkout and the channel the API, unless it names others
 * @throws Problem `transition_not_allowed` or `precondition_failed`
 */
export async function reportProgress(
  deps: ChangeDependencies,
  stored: StoredOrder,
  report: Pick<ChangeRequest, 'event' | 'reason'> & Partial<ChangeRequest>,
): Promise<Order> {
  return changeOrder(deps, stored, { actor: 'checkout', channel: 'api', ...report });
}

/**
 * Applies what a seller simulates about the customer of an order in its sandbox account, as if the checkout reported
 * it, or its expiry.
 * @throws Problem `sandbox_only` if the account is live, or `transition_not_allowed`
 */
export async function simulateProgress(
  deps: ChangeDependencies,
  stored: StoredOrder,
  progress: Pick<ChangeRequest, 'event' | 'reason' | 'paymentTerm' | 'ifVersion'>,
): Promise<Order> {
  if (!stored.sandbox) throw new Problem('sandbox_only');
  return reportProgress(deps, stored, { ...progress, ...(progress.event === 'expired' && { actor: 'system' }) });
}

/**
 * Makes a change. The row decides on a final order; the order's workflow decides everything else. If it refuses, or its
 * run closes meanwhile, the row shows why; otherwise it is asked once more.
 */
async function changeOrder(deps: ChangeDependencies, stored: StoredOrder, request: ChangeRequest): Promise<Order> {
  let mayHaveChanged = false;
  try {
    return await tryToChange(deps, stored, request).catch(async (error: unknown) => {
      if (!(error instanceof RunClosed || error instanceof ChangeRefused)) throw error;
      // A save of the run that has closed may still arrive.
      mayHaveChanged = error instanceof RunClosed;
      return tryToChange(deps, await reread(deps, stored), request);
    });
  } catch (error) {
    if (error instanceof Problem) throw error;
    throw new Problem('service_unavailable', `${outcomeOf(error, mayHaveChanged)} Repeating the same call is safe.`, {
      retryAfterS: 5,
      cause: error,
    });
  }
}

async function tryToChange(deps: ChangeDependencies, stored: StoredOrder, request: ChangeRequest): Promise<Order> {
  if (isFinal(stored.status)) return changeFinalOrder(deps, stored, request);
  // Answered without Temporal, which may be down.
  if (classifyEvent(stored, request.event) === 'repeat' && isForVersion(stored, request)) return stored;
  assertNotBehind(stored);
  try {
    return { ...stored, ...(await deps.workflows.change(stored, request)) };
  } catch (error) {
    if (error instanceof ChangeRefused) {
      const latest = await reread(deps, stored);
      assertNotBehind(latest);
      assertAllowed(latest, request);
    }
    throw error;
  }
}

async function reread({ db }: ChangeDependencies, stored: StoredOrder): Promise<StoredOrder> {
  return (await findOrder(db, stored.id)) ?? stored;
}

/** @throws Problem that says why the order does not allow the change */
function assertAllowed(order: Order, request: ChangeRequest): void {
  if (!isForVersion(order, request)) throw versionDiffers(order.version);
  if (classifyEvent(order, request.event) === 'refused') throw refused(request, order.status);
}

function assertNotBehind({ behindVersion }: StoredOrder): void {
  if (behindVersion !== null) throw new NothingChanged('the row is that of a restored backup: run reconcile');
}

/** The one change of a final order is the cancel of one that is UNSUCCESSFUL: it sets `cancelled_at`, without a webhook. */
async function changeFinalOrder(deps: ChangeDependencies, stored: StoredOrder, request: ChangeRequest): Promise<Order> {
  assertAllowed(stored, request);
  const change = decide(stored, request, new Date().toISOString());
  if (typeof change === 'string') return stored;
  assertNotBehind(stored);
  const { db, log } = deps;
  // If nothing is saved, another call has cancelled it in the meantime.
  if ((await commitChange(db, stored.id, change)) && log) reportChange(log, stored, change);
  return reread(deps, stored);
}

/** @param version of the order */
export function versionDiffers(version: number): Problem {
  return new Problem(
    'precondition_failed',
    `If-Match does not name the ETag of the order, which is "${version}" now. Nothing changed.`,
    { headers: { ETag: `"${version}"` } },
  );
}

function outcomeOf(error: unknown, mayHaveChanged: boolean): string {
  if (mayHaveChanged || !(error instanceof NothingChanged))
    return 'The outcome is unknown: the change may still be made.';
  return error instanceof TooManyChanges
    ? "Too many changes of this seller's orders are running. Nothing changed."
    : 'Orders cannot be changed at the moment. Nothing changed.';
}

function refused({ event }: ChangeRequest, status: OrderStatus): Problem {
  return event === 'cancel'
    ? new Problem('order_not_cancellable', `The order is ${status} and cannot be cancelled.`, {
        members: { order_status: status },
      })
    : new Problem('transition_not_allowed', `${event} is not allowed: the order is ${status}.`, {
        errors: [
          {
            code: 'transition_not_allowed',
            detail: `Not allowed while the order is ${status}`,
            pointer: '/data/event',
          },
        ],
        members: { order_status: status },
      });
}
