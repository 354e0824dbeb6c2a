import { TRANSITIONS } from '../../src/domain/order';
import { type Answer, acknowledged, type Ledger, type OrderRecord } from './ledger';
import { CLOSED_BY_FORCE, type Change, type Facts, type OrderFacts, type RunFacts } from './facts';
import { webhookFaults } from './webhook-invariants';

/** An invariant of docs/contributors/architecture.md that does not hold. */
export interface Broken {
  orderId: string;
  /** What is wrong. */
  fault: string;
}

/** What a cell allows that is broken otherwise. */
export interface Allowances {
  /** Final states of a webhook event besides `delivered`, for orders whose webhook URL matches. */
  undelivered?: (webhookUrl: string) => readonly string[];
  /** True if the receiver or its network is slow: the calls of an order with this webhook URL overlap as it sees them. */
  overlaps?: (webhookUrl: string) => boolean;
  /** True if a worker was frozen for longer than the activity of an attempt: it may repeat an earlier webhook late. */
  repeatsLate?: boolean;
  /** True if operators or expiries change orders too: further refusals are allowed, and replaced runs are not counted. */
  operators?: boolean;
  /** True if the fault touches only receivers: runs are replaced only if the machine stalls for seconds, so only a few. */
  sparesRuns?: boolean;
  /** Ids of orders whose loss was reported: they were created after a backup that was restored. */
  reportedLost?: ReadonlySet<string>;
  /** Ids of orders without a row and without an open workflow, which `reconcile` cannot find. */
  untraceable?: ReadonlySet<string>;
  /** From a backup to its restoration, in unix ms: changes that were acknowledged in between may be undone. */
  restored?: { from: number; to: number };
  /** The orders whose runs can fail in other ways too, and lose a resend: operators or a restoration have changed them. */
  failedRuns?: 'all' | ReadonlySet<string>;
  /** True if Temporal may have forgotten the workflows of closed orders. */
  forgottenRuns?: boolean;
}

/** How many runs of an order can be replaced, and of how many orders if the fault spares runs. */
const REPLACED_RUNS = { usually: 3, spared: 1 };
const REPLACED_SHARE_SPARED = 0.05;

const NEXT: Record<string, Partial<Record<string, string>>> = TRANSITIONS;
const RANK: Record<string, number> = { CREATED: 0, PENDING: 1, APPROVED: 2, SUCCESSFUL: 3, UNSUCCESSFUL: 3 };

/** Compares what callers were told with what the stores and the receiver hold. Every order is checked. */
export function brokenInvariants(
  ledger: Ledger,
  { orders: facts, withoutRow }: Facts,
  allowed: Allowances = {},
): Broken[] {
  const known = acknowledged(ledger);
  const ids = new Set(known.map(({ id }) => id));
  const untraceable = known.filter(
    ({ id, record }) => allowed.untraceable?.has(id) && isCreatedMeanwhile(record, allowed),
  );
  const lostIds = new Set([...untraceable.map(({ id }) => id), ...(allowed.reportedLost ?? [])]);
  const broken: Broken[] = ledger.complaints.map((fault) => ({ orderId: '', fault }));
  for (const id of facts.keys()) if (!ids.has(id)) broken.push({ orderId: id, fault: 'an order that nobody created' });
  const replaced = [...facts.values()].filter(({ runs }) => replacedRuns(runs) > 0).length;
  if (allowed.sparesRuns && replaced > facts.size * REPLACED_SHARE_SPARED) {
    broken.push({ orderId: '', fault: `runs of ${replaced} of ${facts.size} orders were replaced` });
  }
  for (const id of withoutRow) {
    if (!lostIds.has(id)) broken.push({ orderId: id, fault: 'a workflow without a row' });
  }
  broken.push(...listFaults(ledger, allowed));
  for (const { id, record } of known) {
    const order = facts.get(id);
    const isLost = (other: string): boolean =>
      !facts.has(other) &&
      isCreatedMeanwhile(record, allowed) &&
      (allowed.untraceable?.has(other) || allowed.reportedLost?.has(other) || false);
    const faults = order
      ? [
          ...identityFaults(record, order, isLost),
          ...historyFaults(order),
          ...answerFaults(record, order, allowed),
          ...workflowFaults(order, allowed),
          ...(mayBeUndone(record, order, allowed) ? [] : moneyFaults(record, order, allowed)),
          ...webhookFaults(record, order, allowed),
        ]
      : lostIds.has(id)
        ? []
        : ['an acknowledged order is lost: it has no row'];
    broken.push(...faults.map((fault) => ({ orderId: id, fault })));
  }
  return broken;
}

/** A list has orders of its seller only, with their reference and amount. */
function listFaults({ orders, listed }: Ledger, { restored }: Allowances): Broken[] {
  const records = new Map(orders.flatMap((record) => [...record.ids].map((id) => [id, record])));
  return listed.flatMap(({ sellerId, id, reference, amount }) => {
    const record = records.get(id);
    // The create of an order that a restoration has lost may not have been answered.
    const isOwn = record
      ? record.sellerId === sellerId && record.reference === reference && record.amount === amount
      : restored !== undefined;
    return isOwn
      ? []
      : [{ orderId: id, fault: `a list of seller ${sellerId} has this order: ${reference}, ${amount}` }];
  });
}

/** @param isLost true for the id of an order that was created before a restoration, which has lost it */
function identityFaults(
  record: OrderRecord,
  { id, reference, amountPence, sellerId }: OrderFacts,
  isLost: (id: string) => boolean,
): string[] {
  const isSame =
    reference === record.reference && amountPence === Math.round(record.amount * 100) && sellerId === record.sellerId;
  return [
    ...([...record.ids].some((other) => other !== id && !isLost(other))
      ? [`an acknowledged order is doubled: ${[...record.ids].join(', ')}`]
      : []),
    ...(isSame ? [] : ['the order has another reference, amount or seller than its create']),
  ];
}

/** Versions without a gap, legal transitions only, and a row that shows the last one. */
function historyFaults({ changes, version, status, isBehind }: OrderFacts): string[] {
  const faults = isBehind ? ['stuck: changes are refused, because the row lacks some'] : [];
  let at: string | undefined;
  changes.forEach((change, index) => {
    const legal = index === 0 ? change.event === 'created' : NEXT[change.event]?.[at ?? ''] === change.to;
    const continues = change.version === index + 1 && change.from === (at ?? null);
    if (!legal || !continues)
      faults.push(`illegal change ${change.version}: ${change.event} from ${at} to ${change.to}`);
    at = change.to;
  });
  if (at !== status || changes.length !== version) faults.push('the row does not show the last change');
  return faults;
}

/** True if a call about the order, or a webhook of it, fell between a backup and its restoration. */
export function mayBeUndone(record: OrderRecord, { received }: OrderFacts, { restored }: Allowances): boolean {
  if (!restored) return false;
  return (
    record.answers.some((answer) => isMeanwhile(answer, restored)) ||
    received.some(({ at }) => at > restored.from && at < restored.to)
  );
}

const isCreatedMeanwhile = ({ answers }: OrderRecord, { restored }: Allowances): boolean =>
  restored !== undefined && answers.some((answer) => answer.kind === 'create' && isMeanwhile(answer, restored));

function isMeanwhile({ startedAt, endedAt }: Answer, { from, to }: NonNullable<Allowances['restored']>): boolean {
  return startedAt < to - performance.timeOrigin && endedAt > from - performance.timeOrigin;
}

/** Acknowledged changes are there, refused ones are not, and each answer shows its order in a saved and no earlier state. */
function answerFaults(record: OrderRecord, order: OrderFacts, allowed: Allowances): string[] {
  const { answers } = record;
  const { changes } = order;
  const { operators = false } = allowed;
  const faults: string[] = [];
  const events = changes.map(({ event }) => event);
  const wins = answers.filter(({ kind, status: code }) => code === 200 && (kind === 'cancel' || kind === 'completed'));
  if (new Set(wins.map(({ kind }) => kind)).size > 1) faults.push('cancel and complete both succeeded');
  for (const { kind, status: code } of answers) {
    if (code === 404) faults.push(`${kind} was answered 404, and the order exists`);
    if (['create', 'read', 'page', 'resend'].includes(kind)) continue;
    if (code === 200 && !events.includes(kind)) faults.push(`${kind} was acknowledged and is not in the timeline`);
    if (code === 409 && events.includes(kind) && !operators) faults.push(`${kind} was refused and is in the timeline`);
  }
  for (const { kind, order: shown } of answers) {
    if (!shown || kind === 'page') continue;
    const isOwn = record.ids.has(shown.id!) && shown.reference === record.reference && shown.amount === record.amount;
    if (!isOwn) faults.push(`${kind} answered another order: ${shown.id}, ${shown.reference}, ${shown.amount}`);
  }
  if (mayBeUndone(record, order, allowed)) return faults;
  for (const { kind, order: shown, version } of answers) {
    if (!shown) continue;
    const saved = version === undefined ? changes : changes.slice(version - 1, version);
    if (saved.every(({ to }) => to !== shown.status)) {
      faults.push(`${kind} answered ${shown.status}, which was not saved${version ? ` as version ${version}` : ''}`);
    }
  }
  for (const answer of answers) {
    if (answer.status !== 409 || answer.kind === 'create') continue;
    const { kind } = answer;
    const statuses = statusesDuring(answer, answers, changes, operators);
    if (statuses.every((status) => NEXT[kind]?.[status] !== undefined)) {
      faults.push(`${kind} was refused without a reason`);
    }
  }
  const inOrder = answers.filter(({ order }) => order).toSorted((a, b) => a.endedAt - b.endedAt);
  for (const later of inOrder) {
    const earlier = inOrder.filter(({ endedAt }) => endedAt < later.startedAt);
    const seen = Math.max(0, ...earlier.map(({ order }) => RANK[order!.status] ?? 0));
    if ((RANK[later.order!.status] ?? 0) < seen) faults.push(`${later.kind} answered ${later.order!.status} too late`);
    const version = Math.max(0, ...earlier.map((one) => one.version ?? 0));
    if (later.version !== undefined && later.version < version) {
      faults.push(`${later.kind} answered version ${later.version} after version ${version}`);
    }
  }
  return faults;
}

/**
 * The statuses that the order may have had during a call: from the latest one that was answered before it, without the
 * changes that were requested only after it. The times of the changes are not used: clocks may be wrong.
 * @param operators true if operators may have made a change before it was requested
 */
function statusesDuring(
  call: Answer,
  answers: readonly Answer[],
  changes: readonly Change[],
  operators: boolean,
): string[] {
  const before = answers.filter(({ order, endedAt }) => order && endedAt < call.startedAt);
  const known = Math.max(0, ...before.map(({ order }) => RANK[order!.status] ?? 0));
  const isLater = (event: string): boolean => {
    const requests = answers.filter(({ kind }) => kind === event);
    return !operators && requests.length > 0 && requests.every(({ startedAt }) => startedAt > call.endedAt);
  };
  return changes.filter(({ event, to }) => (RANK[to] ?? 0) >= known && !isLater(event)).map(({ to }) => to);
}

/**
 * The bank keeps the money of one payment at most, and only if the order is SUCCESSFUL. A customer who agreed to an offer
 * has a SUCCESSFUL order, unless the seller or an operator cancelled it.
 */
function moneyFaults(
  { isCleanedUp }: OrderRecord,
  { status, changes, payments, hasAgreed }: OrderFacts,
  { operators = false }: Allowances,
): string[] {
  const paid = payments.filter((payment) => payment.status === 'paid').length;
  const isComplete = status === 'SUCCESSFUL';
  const isCancelled = changes.some(({ event }) => event === 'cancel') && (!isCleanedUp || operators);
  return [
    ...payments.flatMap((payment) =>
      payment.isKept === (payment.status === 'paid')
        ? []
        : [`a payment is ${payment.status}, and the bank ${payment.isKept ? 'keeps' : 'does not have'} the money`],
    ),
    ...(payments.some(({ isClosed }) => !isClosed) ? ['stuck: a payment is not closed'] : []),
    ...(paid > 1 ? [`the customer has paid ${paid} times`] : []),
    ...(paid > 0 && !isComplete ? [`the customer has paid for an order that is ${status}`] : []),
    ...(payments.length > 0 && isComplete && paid === 0 && !hasAgreed ? ['nobody has paid for a complete order'] : []),
    ...(hasAgreed && !isComplete && !isCancelled
      ? [`the customer has agreed to an offer, and the order is ${status}`]
      : []),
  ];
}

const replacedRuns = (runs: readonly RunFacts[]): number =>
  runs.filter((run) => run.status === 'TERMINATED' || run.failure === 'RowChanged').length;

/** One workflow: closed, with the state of the row. */
function workflowFaults(
  { id, runs, version, status, cancelledAt, changes, events }: OrderFacts,
  { operators, sparesRuns, failedRuns, forgottenRuns = false }: Allowances,
): string[] {
  const last = runs.at(-1);
  const isFinal = RANK[status] === 3;
  if (!last) return forgottenRuns && isFinal ? [] : ['the order has no workflow'];
  const open = runs.filter((run) => run.status === 'RUNNING').length;
  const replaced = replacedRuns(runs);
  const most = sparesRuns ? REPLACED_RUNS.spared : REPLACED_RUNS.usually;
  const excess = operators || replaced <= most ? [] : [`${replaced} of its runs were replaced`];
  const { result } = last;
  // The cancel of an order that was UNSUCCESSFUL already is saved without its workflow.
  const isLateCancel = changes.at(-1)?.event === 'cancel' && changes.at(-2)?.to === 'UNSUCCESSFUL';
  const agrees =
    result?.status === status &&
    ((result.version === version && result.cancelledAt === cancelledAt) ||
      (isLateCancel && result.version === version - 1));
  // By design, a run that was closed by force is not resumed if nothing is left to do: the row answers.
  const isClosedByForce = CLOSED_BY_FORCE.includes(last.status);
  const isLeft = !isFinal || events.some(({ state }) => state === 'pending');
  const isOlder = result === undefined || result.version < version;
  const isExplained = isClosedByForce ? !isLeft && (isOlder || agrees) : agrees;
  // By design, a run fails whose row was changed without it. TERMINATED runs were replaced.
  const failures = runs.filter(
    (run) => run.status === 'TIMED_OUT' || (run.status === 'FAILED' && run.failure !== 'RowChanged'),
  );
  return [
    ...excess,
    ...(failedRuns === 'all' || failedRuns?.has(id)
      ? []
      : failures.map((run) => `run ${run.runId} is ${run.status}: ${run.failure ?? ''}`)),
    ...(open > 0 ? [`stuck: ${open} of its runs are open`] : []),
    ...(open > 0 || isExplained
      ? []
      : [`the workflow (${last.status}, ${JSON.stringify(result)}) differs from the row (${version}, ${status})`]),
  ];
}
