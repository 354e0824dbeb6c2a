import { Problem, unavailable } from '../contracts/problem';
import { type StoredOrder, findOrder } from '../db/orders';
import type { Db } from '../db/pool';
import {
  type ChangeRequest,
  type Order,
  type OrderStatus,
  classifyEvent,
  isFinal,
  isForVersion,
} from '../domain/order';
import { NothingChanged, TooManyChanges } from '../temporal/calls';
import { type OrderWorkflows, ChangeRefused, RunClosed } from '../temporal/order-workflow-client';

interface ChangeDependencies {
  db: Db;
  workflows: Pick<OrderWorkflows, 'change'>;
}

/**
 * Makes a change. The row answers repeats, other versions and refusals of final orders; the order's workflow decides
 * everything else. If it refuses, or its run closes meanwhile, the row shows why; otherwise it is asked once more.
 * @throws Problem `order_not_cancellable`, `transition_not_allowed`, `precondition_failed`, `service_unavailable`
 */
export async function changeOrder(
  { db, workflows }: ChangeDependencies,
  stored: StoredOrder,
  request: ChangeRequest,
): Promise<Order> {
  let row = stored;
  let mayHaveChanged = false;
  for (let isFirst = true; ; isFirst = false) {
    const kind = classifyEvent(row, request.event);
    const isForRow = isForVersion(row, request);
    if (kind === 'repeat' && isForRow) return row;
    try {
      if (row.behindVersion !== null) throw new NothingChanged('the row is that of a restored backup: run reconcile');
      if (!isForRow) throw versionDiffers(row.version);
      // The row of a restored backup may be open, and lack changes: its workflow knows.
      if (kind === 'refused' && (isFinal(row.status) || !isFirst)) throw refused(request, row.status);
      return { ...row, ...(await workflows.change(row, request)) };
    } catch (error) {
      if (error instanceof Problem) throw error;
      // A save of a run that has closed may still arrive.
      mayHaveChanged ||= !(error instanceof NothingChanged);
      const isAnswered = error instanceof ChangeRefused || error instanceof RunClosed;
      if (!isAnswered || !isFirst) throw notChanged(error, mayHaveChanged);
    }
    row = (await findOrder(db, row.id)) ?? row;
  }
}

/**
 * Applies what a seller simulates about the customer of an order in its sandbox account, as if the checkout reported
 * it, or its expiry.
 * @throws Problem `sandbox_only` if the account is live, or `transition_not_allowed`
 */
export async function simulateProgress(
  deps: ChangeDependencies,
  stored: StoredOrder,
  progress: Omit<ChangeRequest, 'actor' | 'context'>,
): Promise<Order> {
  if (!stored.sandbox) throw new Problem('sandbox_only');
  const actor = progress.event === 'expired' ? 'system' : 'checkout';
  return changeOrder(deps, stored, { ...progress, actor });
}

/** @param version of the order */
export function versionDiffers(version: number): Problem {
  return new Problem(
    'precondition_failed',
    `If-Match does not name the ETag of the order, which is "${version}" now. Nothing changed.`,
    { headers: { ETag: `"${version}"` } },
  );
}

function notChanged(cause: unknown, mayHaveChanged: boolean): Problem {
  const reason =
    cause instanceof TooManyChanges
      ? "Too many changes of this seller's orders are running."
      : 'Orders cannot be changed at the moment.';
  const outcome = mayHaveChanged
    ? 'The outcome is unknown: the change may still be made.'
    : `${reason} Nothing changed.`;
  return unavailable(`${outcome} Repeating the same call is safe.`, cause);
}

function refused({ event }: ChangeRequest, status: OrderStatus): Problem {
  const members = { order_status: status };
  if (event === 'cancel')
    return new Problem('order_not_cancellable', `The order is ${status} and cannot be cancelled.`, { members });
  const detail = `Not allowed while the order is ${status}`;
  return new Problem('transition_not_allowed', `${event} is not allowed: the order is ${status}.`, {
    errors: [{ code: 'transition_not_allowed', detail, pointer: '/data/event' }],
    members,
  });
}
