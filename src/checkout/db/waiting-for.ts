import type { DbClient } from '../../db/pool';

interface OpenCheckout {
  id: string;
  status: 'CREATED' | 'PENDING' | 'APPROVED';
  term: 'PAY_NOW' | 'PAY_LATER' | null;
  submittedAt: Date | null;
  referredAt: Date | null;
  acts: boolean;
  decision: 'approved' | 'declined' | 'failed' | null;
  agreedAt: Date | null;
  /** Of the payment that is in progress or paid. */
  payment: 'pending' | 'processing' | 'paid' | null;
  startedAt: Date | null;
  approvedAt: Date | null;
}

/**
 * Returns what each open order waits for, in words, by its id. Closed orders are left out. On an operator's own checkout,
 * only its status is known.
 * @param format of a time; default: ISO 8601 in UTC, to the second
 */
export async function waitingFor(
  db: DbClient,
  orderIds: readonly string[],
  format = (time: Date): string => `${time.toISOString().slice(0, 19)}Z`,
): Promise<Map<string, string>> {
  const { rows } = await db.query<OpenCheckout>(
    `select o.id, o.status, a.payment_term as term, a.submitted_at as "submittedAt", a.referred_at as "referredAt",
       a.action_url is not null as acts, a.decision, a.agreed_at as "agreedAt", p.status as payment,
       p.started_at as "startedAt", p.approved_at as "approvedAt"
     from checkout_order o left join application a on a.order_id = o.id
       left join payment p on p.order_id = o.id and p.status in ('pending', 'processing', 'paid')
     where o.id = any($1::uuid[]) and o.status in ('CREATED', 'PENDING', 'APPROVED')`,
    [orderIds],
  );
  return new Map(rows.map((checkout) => [checkout.id, inWords(checkout, (time) => (time ? format(time) : ''))]));
}

function inWords(checkout: OpenCheckout, at: (time: Date | null) => string): string {
  const { status, term, submittedAt, referredAt, acts, decision, agreedAt, payment } = checkout;
  if (payment === 'pending') return `the customer approves the payment at the bank since ${at(checkout.startedAt)}`;
  if (payment === 'processing') return `the bank confirms the payment since ${at(checkout.approvedAt)}`;
  if (payment === 'paid' || agreedAt) return 'the completion is reported';
  if (status === 'APPROVED') return 'the customer has not agreed';
  if (decision === 'declined') return 'the customer continues after a decline';
  if (decision === 'failed') return 'the customer corrects the application';
  if (decision) return 'the decision is reported';
  if (acts) return 'the customer acts at the lender';
  if (referredAt) return `the lender reviews since ${at(referredAt)}`;
  if (submittedAt) return `the lender decides since ${at(submittedAt)}`;
  if (term === 'PAY_NOW') return 'the customer has not chosen a bank';
  return term === 'PAY_LATER' ? 'the customer has not applied' : 'the customer has not chosen';
}
