import { getOrderQuery } from '../../workflows/messages';
import type { ChaosStack } from './stack';
import type { Received } from './receiver';

/** By an operator, by a worker, or by an error. */
export const CLOSED_BY_FORCE = ['TERMINATED', 'FAILED'];
/** A closed run is replayed for a query. */
const ANSWERED_WITHIN_MS = 10_000;

export interface Change {
  version: number;
  event: string;
  from: string | null;
  to: string;
}

export interface EventFacts {
  id: string;
  sequence: number;
  state: string;
  body: string;
  /** Recorded attempts. The step of a resend is null. `at` is when it began, in unix ms. */
  attempts: { attempt: number; step: number | null; status: number | null; at: number }[];
}

/** A payment of the hosted checkout. */
export interface PaymentFacts {
  status: string;
  isClosed: boolean;
  /** True if the bank has taken the money, and has not returned it. */
  isKept: boolean;
}

export interface RunFacts {
  runId: string;
  status: string;
  /** The order in the last run: what it returned, or what it answers if it was closed by force and can be asked. */
  result?: { version: number; status: string; cancelledAt: string | null } | undefined;
  /** Why a run failed: the type of its failure, or the message. */
  failure?: string;
}

/** What Postgres, Temporal and the receiver hold about an order once everything is quiet. */
export interface OrderFacts {
  id: string;
  sellerId: string;
  reference: string;
  amountPence: number;
  version: number;
  status: string;
  cancelledAt: string | null;
  /** True if changes are refused because the row lacks some. */
  isBehind: boolean;
  changes: Change[];
  /** In the order of their start. */
  payments: PaymentFacts[];
  /** True if the customer agreed to the lender's offer. */
  hasAgreed: boolean;
  events: EventFacts[];
  /** In the order of their start. */
  runs: RunFacts[];
  /** In the order of arrival. */
  received: Received[];
}

export interface Facts {
  orders: Map<string, OrderFacts>;
  /** Ids of orders that have a workflow and no row. */
  withoutRow: Set<string>;
}

/** Reads all orders of these sellers. Each is in Postgres, in Temporal, or in both. */
export async function readFacts(
  { db, client, receiver }: ChaosStack,
  sellerIds: readonly string[],
  logStart: number,
): Promise<Facts> {
  const { rows } = await db.query<Omit<OrderFacts, 'runs' | 'received'>>({
    text: `select o.id, seller_id as "sellerId", reference, amount_pence::float as "amountPence", version, status,
       (select to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') from order_timeline t
        where t.order_id = o.id and event = 'cancel' and t.version is not null) as "cancelledAt",
       behind_version is not null as "isBehind",
       (select coalesce(json_agg(json_build_object('version', version, 'event', event, 'from', from_status,
          'to', to_status) order by version), '[]')
        from order_timeline t where t.order_id = o.id and version is not null) as changes,
       (select coalesce(json_agg(json_build_object('status', status, 'isClosed', closed_at is not null,
          'isKept', coalesce(customer in ('approved', 'slow') and b.cancelled_at is null and refunded_at is null, false))
          order by p.started_at), '[]')
        from payment p left join sandbox_payment b using (id) where p.order_id = o.id) as payments,
       exists (select from application a where a.order_id = o.id and agreed_at is not null
         and payment_term = 'PAY_LATER') as "hasAgreed",
       (select coalesce(json_agg(json_build_object('id', id, 'sequence', sequence, 'state', state, 'body', body,
          'attempts', (select coalesce(json_agg(json_build_object('attempt', attempt, 'step', step, 'status', status,
            'at', extract(epoch from at) * 1000)
            order by attempt), '[]') from webhook_attempt a where a.event_id = e.id)) order by sequence), '[]')
        from webhook_event e where e.order_id = o.id) as events
     from orders o where seller_id = any($1)`,
    values: [sellerIds],
  });
  const orders = new Map<string, OrderFacts>(rows.map((row) => [row.id, { ...row, runs: [], received: [] }]));
  for (const received of receiver.read(logStart)) orders.get(received.order)?.received.push(received);
  const withoutRow = new Set<string>();
  for (const sellerId of sellerIds) {
    for await (const { workflowId, runId, status } of client.workflow.list({ query: `SellerId = '${sellerId}'` })) {
      const id = workflowId.slice('order-'.length);
      const order = orders.get(id);
      if (order) order.runs.unshift({ runId, status: status.name });
      else withoutRow.add(id);
    }
  }
  await readResults(client, [...orders.values()]);
  return { orders, withoutRow };
}

/** The type of the first cause, or its message. */
function failureOf(error: unknown): string {
  let cause = error as Error & { type?: string };
  while (cause.cause instanceof Error) cause = cause.cause;
  return cause.type ?? cause.message;
}

async function readResults(client: ChaosStack['client'], orders: OrderFacts[]): Promise<void> {
  const queue = orders.flatMap(({ id, runs }) => runs.map((run) => ({ id, run, isLast: run === runs.at(-1) })));
  const work = async (): Promise<void> => {
    for (let next = queue.pop(); next; next = queue.pop()) {
      const { id, run, isLast } = next;
      const handle = client.workflow.getHandle(`order-${id}`, run.runId, { followRuns: false });
      if (run.status === 'FAILED') run.failure = await handle.result().then(() => 'none', failureOf);
      if (isLast && run.status === 'COMPLETED') run.result = await handle.result();
      if (isLast && CLOSED_BY_FORCE.includes(run.status)) {
        const answer = client.withDeadline(Date.now() + ANSWERED_WITHIN_MS, () => handle.query(getOrderQuery));
        run.result = (await answer.catch(() => undefined)) ?? undefined;
      }
    }
  };
  await Promise.all(Array.from({ length: 16 }, work));
}

/** Those of these orders that have no open workflow. */
export async function withoutOpenWorkflow({ client }: ChaosStack, ids: readonly string[]): Promise<string[]> {
  const left: string[] = [];
  for (const id of ids) {
    const { count } = await client.workflow.count(`WorkflowId = 'order-${id}' and ExecutionStatus = 'Running'`);
    if (count === 0) left.push(id);
  }
  return left;
}
