import type { OrderEvent } from '../domain/status';
import { type Checkout, isConfirmable } from '../orders/hosted-checkout';

/** Which page the applicant sees. It is derived from stored data only, so every tab shows the same. */
export type CheckoutState = 'choice' | 'details' | WaitingState | 'confirmation' | 'complete' | ClosedState;

/** The customer waits: for the lender, for the lender's review, or for the order to be completed. */
export type WaitingState = 'waiting' | 'referred' | 'completing';

/** The customer has nothing to do. `approved-elsewhere`: the order was not approved through this checkout. */
export type ClosedState = 'declined' | 'failed' | 'expired' | 'cancelled' | 'approved-elsewhere';

/** The pages that show application data, so only the applicant may see them. */
const APPLICANT_STATES = ['waiting', 'referred', 'confirmation', 'completing', 'complete', 'declined'] as const;
export type ApplicantState = (typeof APPLICANT_STATES)[number];

export function isApplicantState(state: CheckoutState): state is ApplicantState {
  return (APPLICANT_STATES as readonly CheckoutState[]).includes(state);
}

const STATE_BY_EVENT: Partial<Record<OrderEvent | 'created', ClosedState>> = {
  declined: 'declined',
  expired: 'expired',
  cancel: 'cancelled',
};

export function checkoutState(checkout: Pick<Checkout, 'order' | 'changes' | 'application'>): CheckoutState {
  const { order, changes, application } = checkout;
  switch (order.status) {
    case 'CREATED':
      return 'choice';
    case 'PENDING':
      if (!application) return 'choice';
      if (!application.submitted) return 'details';
      return application.referredAt && !application.decision ? 'referred' : 'waiting';
    case 'APPROVED':
      if (!isConfirmable(checkout)) return 'approved-elsewhere';
      return application?.agreedAt ? 'completing' : 'confirmation';
    case 'SUCCESSFUL':
      return 'complete';
    case 'UNSUCCESSFUL': {
      // The first change counts: a declined order can be cancelled afterwards.
      const closing = changes.find(({ to }) => to === 'UNSUCCESSFUL');
      return (closing && STATE_BY_EVENT[closing.event]) ?? 'failed';
    }
  }
}
