import { Counter, Gauge, Histogram, Registry } from 'prom-client';

/** The service's metrics. A label has a fixed set of values, or at most ten ids of sellers: never a path or text from outside. */
export const registry = new Registry();

const registers = [registry];
const PREFIX = 'order_service_';
/** Seconds. An API call takes milliseconds; a webhook attempt and a lender's answer up to half a minute. */
const CALL_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 5, 10];
export const REMOTE_BUCKETS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30];

export const counter = <T extends string>(name: string, help: string, ...labelNames: T[]) =>
  new Counter({ name: PREFIX + name, help, labelNames, registers });
export const histogram = <T extends string>(name: string, help: string, buckets: number[], ...labelNames: T[]) =>
  new Histogram({ name: PREFIX + name, help, buckets, labelNames, registers });

export const httpRequests = counter('http_requests_total', 'HTTP requests.', 'method', 'route', 'status');
export const httpDuration = histogram(
  'http_request_duration_seconds',
  'Time from the headers of a request to its response.',
  CALL_BUCKETS,
  'method',
  'route',
);
export const httpProblems = counter('http_problems_total', 'Error responses of the API by code.', 'status', 'code');
export const orderReads = counter('order_reads_total', 'Reads of an order by Order-Source.', 'source');
export const orderChanges = counter('order_changes_total', 'Saved changes of orders.', 'event', 'actor');
export const successfulPounds = counter(
  'successful_pounds_total',
  'Amounts of orders that became SUCCESSFUL, in pounds.',
  'mode',
);
// From zero, so that the first order shows as an increase.
for (const mode of ['live', 'sandbox']) successfulPounds.inc({ mode }, 0);
export const refusedSignals = counter('refused_signals_total', 'Signals that an order refused.', 'actor');
export const replacedRuns = counter(
  'replaced_runs_total',
  'Workflow runs that were replaced: closed by force, stuck, or missing.',
  'reason',
);
export const stuckRuns = new Gauge({
  name: `${PREFIX}stuck_runs`,
  help: 'Workflow runs whose tasks keep failing.',
  registers,
});
// Absent until a worker has counted the runs; the API never counts them.
stuckRuns.remove();
export const webhookAttempts = counter('webhook_attempts_total', 'Delivery attempts.', 'outcome', 'error');
export const webhookDuration = histogram(
  'webhook_attempt_duration_seconds',
  'Duration of a delivery attempt.',
  REMOTE_BUCKETS,
);
export const webhooksEnded = counter('webhooks_ended_total', 'Webhooks whose delivery has ended.', 'state');
export const operatorActions = counter(
  'operator_actions_total',
  'Commands of the CLI that change something.',
  'outcome',
);

export const droppedLogLines = counter('dropped_log_lines_total', 'Log lines that could not be written.');
export const deletedRows = counter(
  'deleted_rows_total',
  'Rows of old data that were deleted, or whose content was.',
  'data',
);
export const overdueDeletion = new Gauge({
  name: `${PREFIX}overdue_deletion_seconds`,
  help: 'Time since the oldest row of old data should have been deleted.',
  labelNames: ['data'],
  registers,
});

/** Shows a 0 before the first event: Prometheus sees no increase in a series that begins at 1. */
export function beginAtZero<T extends string>(
  of: Counter<T>,
  label: NoInfer<T>,
  values: readonly string[],
  others: Partial<Record<NoInfer<T>, string>> = {},
): void {
  for (const value of values) of.inc({ ...others, [label]: value } as Record<T, string>, 0);
}
beginAtZero(orderReads, 'source', ['workflow', 'snapshot']);
beginAtZero(replacedRuns, 'reason', ['closed', 'stuck', 'missing']);
beginAtZero(webhooksEnded, 'state', ['delivered', 'exhausted', 'disabled']);
beginAtZero(operatorActions, 'outcome', ['succeeded', 'failed']);

const openBreakers = new Map<string, () => number>();
new Gauge({
  name: `${PREFIX}open_breakers`,
  help: 'Circuit breakers of this process that are open.',
  labelNames: ['breaker'],
  registers,
  collect() {
    this.reset();
    for (const [breaker, countOpen] of openBreakers) this.set({ breaker }, countOpen());
  },
});

/**
 * Adds a kind of circuit breaker to the metrics.
 * @param countOpen how many are open: 0 or 1 for a single breaker
 */
export function trackBreaker(breaker: string, countOpen: () => number): void {
  openBreakers.set(breaker, countOpen);
}

/** The part of a Koa context that the router sets. */
interface Routed {
  _matchedRoute?: string | RegExp;
}

/**
 * The template of the matched route, such as `/order/:orderId`: never a path, which is unbounded and may hold a pay
 * link.
 */
export function routeOf(ctx: object): string {
  const route = (ctx as Routed)._matchedRoute;
  return typeof route === 'string' ? route : 'none';
}
