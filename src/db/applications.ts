import type { Applicant, Application, DeclineCode, Instalment, LenderDecision, Offer } from '../domain/application';
import { NO_OFFER } from '../domain/application';
import { penceToPounds } from '../domain/money';
import type { PaymentTerm } from '../domain/order';
import type { DbClient } from './pool';

/** A worker of before migration 0007 writes dates alone, of monthly instalments, also once that is applied. */
type StoredInstalment = Instalment | { due: string; amountPence: number };

interface StoredOffer {
  instalments: readonly StoredInstalment[];
  interestPence: number;
}

interface ApplicationRow {
  id: string;
  order_id: string;
  payment_term: PaymentTerm;
  business_name: string;
  company_number: string;
  email: string;
  monthly_turnover_pence: string;
  submitted_at: Date | null;
  referred_at: Date | null;
  decision: LenderDecision['kind'] | null;
  decline_code: DeclineCode | null;
  offer: StoredOffer | null;
  agreed_at: Date | null;
  forgotten_at: Date | null;
}

export async function findApplication(db: DbClient, orderId: string): Promise<Application | undefined> {
  const { rows } = await db.query<ApplicationRow>(
    `select id, order_id, payment_term, business_name, company_number, email,
       (monthly_turnover * 100)::bigint as monthly_turnover_pence, submitted_at, referred_at, decision, decline_code, offer, agreed_at,
       forgotten_at
     from application where order_id = $1`,
    [orderId],
  );
  return rows[0] && toApplication(rows[0]);
}

function toApplication(row: ApplicationRow): Application {
  return {
    id: row.id,
    orderId: row.order_id,
    paymentTerm: row.payment_term,
    submitted: row.forgotten_at
      ? null
      : row.submitted_at && {
          applicant: {
            businessName: row.business_name,
            companyNumber: row.company_number,
            email: row.email,
            monthlyTurnoverPence: Number(row.monthly_turnover_pence),
          },
          at: row.submitted_at,
        },
    referredAt: row.referred_at,
    decision: toDecision(row),
    agreedAt: row.agreed_at,
  };
}

function toDecision({ decision, decline_code: code, offer }: ApplicationRow): LenderDecision | null {
  if (decision === 'approved') return { kind: decision, offer: toOffer(offer ?? NO_OFFER) };
  if (decision === 'declined') return { kind: decision, code: code ?? 'other' };
  return decision && { kind: decision };
}

function toOffer({ instalments, interestPence }: StoredOffer): Offer {
  const toInstalment = (part: StoredInstalment, index: number): Instalment =>
    'dueInMonths' in part ? part : { dueInMonths: index + 1, amountPence: part.amountPence };
  return { instalments: instalments.map(toInstalment), interestPence };
}

/** How the customer pays, which may be chosen anew until the application is submitted. */
export async function choosePaymentTerm(db: DbClient, orderId: string, paymentTerm: PaymentTerm): Promise<void> {
  await db.query(
    `insert into application (order_id, payment_term) values ($1, $2)
     on conflict (order_id) do update set payment_term = excluded.payment_term where application.submitted_at is null`,
    [orderId, paymentTerm],
  );
}

/**
 * Submits the application of a PENDING order, once, and has the sweep see to it that the lender is asked.
 * @param paymentTerm that the customer applies for: another one may have been chosen meanwhile
 * @param sweepAfterMs leaves the caller the time to tell the workflow itself
 * @returns false where there is none to submit, or no more
 */
export async function submitApplication(
  db: DbClient,
  orderId: string,
  paymentTerm: PaymentTerm,
  { businessName, companyNumber, email, monthlyTurnoverPence }: Applicant,
  sweepAfterMs: number,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `with submitted as (
       update application set business_name = $2, company_number = $3, email = $4, monthly_turnover = $5, submitted_at = now()
       where order_id = $1 and payment_term = $7 and submitted_at is null
         and exists (select from orders where id = $1 and status = 'PENDING')
       returning order_id
     )
     update orders set sweep_at = least(sweep_at, now() + $6 * interval '1 ms')
     where id in (select order_id from submitted) and status = 'PENDING'`,
    [
      orderId,
      businessName,
      companyNumber,
      email,
      penceToPounds(monthlyTurnoverPence).toFixed(2),
      sweepAfterMs,
      paymentTerm,
    ],
  );
  return rowCount === 1;
}

/** Notes what the lender said; its first decision stays. */
export async function recordDecision(db: DbClient, applicationId: string, decision: LenderDecision): Promise<void> {
  await db.query(
    `update application set decision = $2, decided_at = now(), decline_code = $3, offer = $4
     where id = $1 and decision is null`,
    [
      applicationId,
      decision.kind,
      decision.kind === 'declined' ? decision.code : null,
      decision.kind === 'approved' ? JSON.stringify(decision.offer) : null,
    ],
  );
}

export async function recordReferral(db: DbClient, applicationId: string): Promise<void> {
  await db.query('update application set referred_at = coalesce(referred_at, now()) where id = $1', [applicationId]);
}

/**
 * Keeps the customer's word on an APPROVED order, and has the sweep see to it that the order is completed.
 * @param at when they gave it: by the clock that showed them what is due when
 * @param sweepAfterMs leaves the caller the time to complete it itself
 */
export async function recordAgreement(db: DbClient, orderId: string, at: Date, sweepAfterMs: number): Promise<void> {
  // The status is looked at twice: the second time after any wait for the change that closes the order.
  await db.query(
    `with agreed as (
       update application set agreed_at = coalesce(agreed_at, $2)
       where order_id = $1 and exists (select from orders where id = $1 and status = 'APPROVED')
       returning order_id
     )
     update orders set sweep_at = least(sweep_at, now() + $3 * interval '1 ms')
     where id in (select order_id from agreed) and status = 'APPROVED'`,
    [orderId, at, sweepAfterMs],
  );
}

/** Whether the customer has agreed and the order is still to be completed; `o` is the order. */
export const AGREEMENT_WAITS = `(o.status = 'APPROVED' and exists (
  select from application a where a.order_id = o.id and a.agreed_at is not null))`;

/** Whether the order waits for the lender, whose decision moves it on from PENDING; `o` is the order. */
export const APPLICATION_WAITS = `(o.status = 'PENDING' and exists (
  select from application a where a.order_id = o.id and a.submitted_at is not null))`;

export async function applicationWaits(db: DbClient, orderId: string): Promise<boolean> {
  const { rows } = await db.query<{ waits: boolean }>(
    `select ${APPLICATION_WAITS} as waits from orders o where id = $1`,
    [orderId],
  );
  return rows[0]?.waits ?? false;
}

/**
 * Deletes what customers told for orders that closed longer ago than `retentionMs`, at most `limit` of them. What they
 * agreed to stays: their instalments are due longer than that.
 * @returns how many
 */
export async function purgeApplicantData(db: DbClient, retentionMs: number, limit: number): Promise<number> {
  const { rowCount } = await db.query(
    `with old as (
       select a.id, a.agreed_at is not null and o.status = 'SUCCESSFUL' as agreed
       from application a join orders o on o.id = a.order_id
       where a.forgotten_at is null and a.created_at < now() - $1 * interval '1 ms'
         and o.status in ('SUCCESSFUL', 'UNSUCCESSFUL')
         and exists (select from order_timeline t where t.order_id = a.order_id and t.to_status = o.status
           and t.from_status <> o.status and t.at < now() - $1 * interval '1 ms')
       limit $2 for update of a skip locked
     ), deleted as (
       delete from application where id in (select id from old where not agreed)
     ), stripped as (
       update application set forgotten_at = now(), business_name = null, company_number = null, email = null,
         monthly_turnover = null
       where id in (select id from old where agreed)
     )
     select from old`,
    [retentionMs, limit],
  );
  return rowCount ?? 0;
}

/** The secret that the checkout's forms are signed with. */
export async function findCheckoutSecret(db: DbClient): Promise<string> {
  const { rows } = await db.query<{ secret: string }>('select secret from checkout_secret');
  const secret = rows[0]?.secret;
  if (secret === undefined) throw new Error('the checkout has no secret: its row was deleted');
  return secret;
}
