import {
  type Applicant,
  type Application,
  type DeclineCode,
  type LenderDecision,
  type Offer,
  NO_OFFER,
} from '../domain/application';
import type { PaymentTerm } from '../../domain/order';
import { LINK_VALID } from './mails';
import { CURRENT_PAYMENT } from './payments';
import type { DbClient } from '../../db/pool';

/** Before an application is submitted, and after a purge, the columns of the applicant are null. */
interface ApplicationRow extends Omit<Application, 'submitted' | 'decision'>, Applicant {
  submittedAt: Date | null;
  decision: LenderDecision['kind'] | null;
  declineCode: DeclineCode | null;
  offer: Offer | null;
  purgedAt: Date | null;
}

export async function findApplication(db: DbClient, orderId: string): Promise<Application | undefined> {
  const { rows } = await db.query<ApplicationRow>(
    `select id, order_id as "orderId", payment_term as "paymentTerm", business_name as "businessName",
       company_number as "companyNumber", email, monthly_turnover_pence as "monthlyTurnoverPence",
       submitted_at as "submittedAt", referred_at as "referredAt", action_url as "actionUrl",
       returned_at as "returnedAt", decision, decided_at as "decidedAt", decline_code as "declineCode", offer,
       agreed_at as "agreedAt", browser_digest as "browserDigest", purged_at as "purgedAt",
       array(select t from unnest(link_requests) t where t > greatest(moved_at, now() - ${LINK_VALID})) as "openLinks"
     from application where order_id = $1`,
    [orderId],
  );
  return rows[0] && toApplication(rows[0]);
}

function toApplication(row: ApplicationRow): Application {
  const { businessName, companyNumber, email, monthlyTurnoverPence, submittedAt, purgedAt, ...others } = row;
  const { decision, declineCode, offer, ...rest } = others;
  const applicant = { businessName, companyNumber, email, monthlyTurnoverPence };
  const submitted = purgedAt ? null : submittedAt && { applicant, at: submittedAt };
  return { ...rest, submitted, decision: toDecision(decision, declineCode, offer) };
}

function toDecision(
  kind: ApplicationRow['decision'],
  code: DeclineCode | null,
  offer: Offer | null,
): LenderDecision | null {
  if (kind === 'approved') return { kind, offer: offer ?? NO_OFFER };
  if (kind === 'declined') return { kind, code: code ?? 'other' };
  return kind && { kind };
}

/** SQL, true if the order $1 has a payment that is in progress or paid. */
const HAS_PAYMENT = `exists (select from payment where order_id = $1 and ${CURRENT_PAYMENT})`;

/**
 * Stores the payment term that the customer chooses. The choice can be changed until the application is submitted or a
 * payment is started, and again after the lender has declined or could not decide.
 */
export async function upsertPaymentTerm(db: DbClient, orderId: string, paymentTerm: PaymentTerm): Promise<void> {
  await db.query(
    `insert into application (order_id, payment_term) values ($1, $2)
     on conflict (order_id) do update set payment_term = excluded.payment_term
     where (application.submitted_at is null or application.decision in ('declined', 'failed')) and not ${HAS_PAYMENT}`,
    [orderId, paymentTerm],
  );
}

/** An application to pay later, as the customer submits it. */
export interface SubmittedApplication {
  applicant: Applicant;
  /** Of the browser that the application will belong to. */
  browserDigest: Buffer;
  /** The id of the application that the lender could not process; undefined for the first one. */
  replaces?: string | undefined;
}

/**
 * Submits the application of a PENDING order, once, and again with a new id if the lender could not process it.
 * @returns false if there is no application that can be submitted, or the customer has chosen another payment term
 * since
 */
export async function storeApplication(
  db: DbClient,
  orderId: string,
  { applicant, browserDigest, replaces }: SubmittedApplication,
): Promise<boolean> {
  const { businessName, companyNumber, email, monthlyTurnoverPence } = applicant;
  const { rowCount } = await db.query(
    `update application set business_name = $2, company_number = $3, email = $4, monthly_turnover_pence = $5,
       submitted_at = now(), browser_digest = $6, decision = null, decided_at = null, referred_at = null,
       action_url = null, returned_at = null,
       id = case when submitted_at is null then id else gen_random_uuid() end
     where order_id = $1 and payment_term = 'PAY_LATER' and not ${HAS_PAYMENT}
       and case when submitted_at is null then $7::text is null else decision = 'failed' and id::text = $7 end
       and exists (select from checkout_order where id = $1 and status = 'PENDING')`,
    [orderId, businessName, companyNumber, email, monthlyTurnoverPence, browserDigest, replaces],
  );
  return rowCount === 1;
}

/** Records the lender's decision. Later decisions are ignored. */
export async function recordDecision(db: DbClient, applicationId: string, decision: LenderDecision): Promise<void> {
  await db.query(
    `update application set decision = $2, decided_at = now(), action_url = null, decline_code = $3, offer = $4
     where id = $1 and decision is null`,
    [
      applicationId,
      decision.kind,
      decision.kind === 'declined' ? decision.code : null,
      decision.kind === 'approved' ? JSON.stringify(decision.offer) : null,
    ],
  );
}

/** Records that the lender decides later. Its page stays known: the customer may come back from there. */
export async function recordReferral(db: DbClient, applicationId: string): Promise<void> {
  await db.query('update application set referred_at = coalesce(referred_at, now()) where id = $1', [applicationId]);
}

/**
 * Records that the customer has to act on the lender's page at this URL. Ignores the answer of a call from before the
 * customer's last return.
 * @param returnedAt of the application as the lender was asked about it
 */
export async function recordAction(
  db: DbClient,
  applicationId: string,
  url: string,
  returnedAt: Date | null,
): Promise<void> {
  await db.query(
    `update application set action_url = $2, referred_at = null
     where id = $1 and decision is null and date_trunc('milliseconds', returned_at) is not distinct from $3`,
    [applicationId, url, returnedAt],
  );
}

/**
 * Records that the customer has come back from the lender's page.
 * @returns false if there was none to act on
 */
export async function recordReturn(db: DbClient, orderId: string): Promise<boolean> {
  const { rowCount } = await db.query(
    'update application set action_url = null, returned_at = now() where order_id = $1 and action_url is not null',
    [orderId],
  );
  return rowCount === 1;
}

/**
 * Records that the customer of an APPROVED order has agreed to the offer.
 * @param browserDigests of the browser that agrees; refused if the application does not belong to it
 * @param at when the customer agreed, by the clock of the process that showed the due dates
 * @returns false if nothing was recorded
 */
export async function recordAgreement(
  db: DbClient,
  orderId: string,
  browserDigests: readonly Buffer[],
  at: Date,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `update application set agreed_at = coalesce(agreed_at, $2)
     where order_id = $1 and browser_digest = any($3)
       and exists (select from checkout_order where id = $1 and status = 'APPROVED')`,
    [orderId, at, browserDigests],
  );
  return rowCount === 1;
}

/** Returns the browser that the application for a pay link belongs to, or undefined if there is none. */
export async function findApplicant(db: DbClient, payLinkId: string) {
  const { rows } = await db.query<{ orderId: string; browserDigest: Buffer }>({
    name: 'find_applicant',
    text: `select o.id as "orderId", a.browser_digest as "browserDigest"
           from checkout_order o join application a on a.order_id = o.id
           where o.pay_link_id = $1 and a.browser_digest is not null`,
    values: [payLinkId],
  });
  return rows[0];
}
