import { Problem } from '../contracts/problem';
import type { StoredOrder } from '../db/find-orders';
import { type ChangeRequest, classifyEvent, withState } from '../domain/order';
import { type OrderStatus, isFinal } from '../domain/status';
import { CallNotMade, TooManyChanges } from '../temporal/availability';
import { ChangeRefused, VersionDiffers } from '../temporal/change-through-workflow';
import type { OrderDependencies } from './dependencies';

type ChangeDependencies = Pick<OrderDependencies, 'workflows'>;
export type ChangedOrder = Pick<StoredOrder, 'order' | 'attachments'>;

/**
 * Cancels a seller's order.
 * @param ifVersion the versions that the caller wants to cancel; undefined for any
 * @throws Problem `order_not_cancellable` if the order is SUCCESSFUL, or `precondition_failed`
 */
export async function cancelOrder(
  deps: ChangeDependencies,
  stored: StoredOrder,
  ifVersion?: readonly number[],
): Promise<ChangedOrder> {
  return changeOrder(deps, stored, { event: 'cancel', actor: 'seller', channel: 'api', reason: null, ifVersion });
}

/**
 * Cancels any seller's order on behalf of an operator, who uses the CLI.
 * @throws Problem `order_not_cancellable` if the order is SUCCESSFUL
 */
export async function cancelForOperator(
  deps: ChangeDependencies,
  stored: StoredOrder,
  reason: string | null,
): Promise<ChangedOrder> {
  return changeOrder(deps, stored, { event: 'cancel', actor: 'operator', channel: 'cli', reason });
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
): Promise<ChangedOrder> {
  return changeOrder(deps, stored, { actor: 'checkout', channel: 'api', ...report });
}

/**
 * Applies what a seller simulates about the customer of an order in its sandbox account, as if the checkout reported
 * it.
 * @throws Problem `sandbox_only` if the account is live, or `transition_not_allowed`
 */
export async function simulateProgress(
  deps: ChangeDependencies,
  stored: StoredOrder,
  progress: Pick<ChangeRequest, 'event' | 'reason' | 'ifVersion'>,
): Promise<ChangedOrder> {
  if (!stored.order.sandbox)
    throw new Problem(
      'sandbox_only',
      'The order belongs to a live account. Only orders of a sandbox account can be simulated.',
    );
  return reportProgress(deps, stored, progress);
}

/** Repeats, and requests that a final status refuses, need no workflow. The workflow decides all other requests. */
async function changeOrder(
  deps: ChangeDependencies,
  stored: StoredOrder,
  request: ChangeRequest,
): Promise<ChangedOrder> {
  const { order, attachments } = stored;
  const kind = classifyEvent(stored, request.event);
  if (kind === 'repeat') return { order, attachments };
  if (kind === 'refused' && isFinal(order.status)) throw refused(request, order.status);
  try {
    return { order: withState(order, await deps.workflows.change(stored, request)), attachments };
  } catch (error) {
    if (error instanceof ChangeRefused) throw refused(request, error.status);
    if (error instanceof VersionDiffers) throw versionDiffers(error.version);
    throw new Problem('service_unavailable', `${outcomeOf(error)} Repeating the same call is safe.`, {
      retryAfterS: 5,
      cause: error,
    });
  }
}

/** @param version of the order */
export function versionDiffers(version: number): Problem {
  return new Problem(
    'precondition_failed',
    `The order has another version than If-Match names: its ETag is "${version}". Nothing changed.`,
    { headers: { ETag: `"${version}"` } },
  );
}

function outcomeOf(error: unknown): string {
  if (error instanceof TooManyChanges) return "Too many changes of this seller's orders are running. Nothing changed.";
  return error instanceof CallNotMade
    ? 'Orders cannot be changed at the moment. Nothing changed.'
    : 'The outcome is unknown: the change may still be made.';
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
