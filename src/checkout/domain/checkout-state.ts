import type { PaymentStatus } from './payment';
import type { OrderEvent } from '../../domain/order';
import { type Checkout, canAgree } from './checkout';

/**
 * Which page the applicant sees. It is derived from stored data only, so every tab shows the same. `action-required`: the
 * customer has to act on a page of the lender.
 */
export type CheckoutState =
  FormState | WaitingState | 'action-required' | 'paying' | 'agreement' | 'complete' | ClosedState;

/**
 * The customer fills in a form. `retry`: the lender could not process the application. `pay-now-offered`: the lender
 * has declined, and the customer can pay now.
 */
type FormState = 'choice' | 'details' | 'retry' | 'bank' | 'pay-now-offered';

/** The customer waits: for the lender, for the lender's review, for the bank, or for the order to be completed. */
export type WaitingState = 'waiting' | 'referred' | 'confirming' | 'completing';

/** The customer has nothing to do. `approved-elsewhere`: the order was not approved through this checkout. */
export type ClosedState = 'declined' | 'failed' | 'expired' | 'cancelled' | 'approved-elsewhere';

/** The pages that show the data of an application or a payment, so only the applicant may see them. */
const APPLICANT_STATES = [
  'waiting',
  'referred',
  'action-required',
  'retry',
  'pay-now-offered',
  'bank',
  'paying',
  'confirming',
  'agreement',
  'completing',
  'complete',
  'declined',
] as const;
export type ApplicantState = (typeof APPLICANT_STATES)[number];

/** Before an application is submitted, the choice of a bank is open to every browser. */
export function isApplicantState(state: CheckoutState, { application }: Checkout): state is ApplicantState {
  if (state === 'bank' && !application?.submitted) return false;
  return (APPLICANT_STATES as readonly CheckoutState[]).includes(state);
}

const STATE_BY_EVENT: Partial<Record<OrderEvent | 'created', ClosedState>> = {
  declined: 'declined',
  expired: 'expired',
  cancel: 'cancelled',
};

type StoredCheckout = Pick<Checkout, 'order' | 'application' | 'payment'>;

export function checkoutState(checkout: StoredCheckout): CheckoutState {
  const { order, application, payment } = checkout;
  switch (order.status) {
    case 'CREATED':
    case 'PENDING':
      return (
        stateOfPayment(payment) ??
        (application?.submitted ? stateOfApplication(checkout) : stateBeforeApplication(checkout))
      );
    case 'APPROVED':
      if (application?.agreedAt) return 'completing';
      // Somebody else may have approved the order while its customer was at the bank.
      return stateOfPayment(payment) ?? (canAgree(checkout) ? 'agreement' : 'approved-elsewhere');
    case 'SUCCESSFUL':
      return 'complete';
    case 'UNSUCCESSFUL':
      return closedState(checkout);
  }
}

/** Why an UNSUCCESSFUL order has ended. The first change decides: a declined order can be cancelled afterwards. */
export function closedState({ order }: Pick<Checkout, 'order'>): ClosedState {
  const closing = order.changes.find(({ to }) => to === 'UNSUCCESSFUL');
  return (closing && STATE_BY_EVENT[closing.event]) ?? 'failed';
}

const STATE_BY_PAYMENT: Partial<Record<PaymentStatus, 'paying' | 'confirming' | 'completing'>> = {
  pending: 'paying',
  processing: 'confirming',
  paid: 'completing',
};

function stateOfPayment(payment: StoredCheckout['payment']): CheckoutState | undefined {
  return payment && STATE_BY_PAYMENT[payment.status];
}

/** An order with one payment term skips the choice. */
function stateBeforeApplication({ order, application }: StoredCheckout): FormState {
  const [only, ...others] = order.allowedPaymentTerms;
  const chosen = order.status === 'PENDING' ? application?.paymentTerm : undefined;
  const term = others.length === 0 ? only : chosen;
  if (term === undefined) return 'choice';
  return term === 'PAY_NOW' ? 'bank' : 'details';
}

function stateOfApplication({ order, application }: StoredCheckout): FormState | WaitingState | 'action-required' {
  const { decision, referredAt, actionUrl, paymentTerm } = application ?? {};
  if (!decision && referredAt) return 'referred';
  if (!decision) return actionUrl ? 'action-required' : 'waiting';
  if (decision.kind === 'approved') return 'waiting';
  const canPayNow = order.allowedPaymentTerms.includes('PAY_NOW');
  if (canPayNow && paymentTerm === 'PAY_NOW') return 'bank';
  if (decision.kind === 'failed') return 'retry';
  return canPayNow ? 'pay-now-offered' : 'waiting';
}
