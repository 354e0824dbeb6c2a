import type { OrderEvent } from '../domain/status';
import type { Checkout } from '../orders/hosted-checkout';
import { isConfirmable } from '../orders/hosted-checkout';

/** Where a customer is. It follows from what is stored alone, so that reloads, tabs and lost browsers all agree. */
export type Stage = 'choice' | 'details' | WaitStage | 'confirmation' | 'paid' | EndStage;

/** Where the page waits: for the lender, for its second look, or for what the customer agreed to to be done. */
export type WaitStage = 'waiting' | 'referred' | 'completing';

/** Where there is nothing to do for a customer; `approved-elsewhere` is by somebody else than our lender. */
export type EndStage = 'declined' | 'failed' | 'expired' | 'cancelled' | 'approved-elsewhere';

const ENDS: Partial<Record<OrderEvent | 'created', EndStage>> = {
  declined: 'declined',
  expired: 'expired',
  cancel: 'cancelled',
};

export function stageOf(checkout: Pick<Checkout, 'order' | 'changes' | 'application'>): Stage {
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
      return 'paid';
    case 'UNSUCCESSFUL': {
      // The first one: a declined order may be cancelled as well.
      const end = changes.find(({ to }) => to === 'UNSUCCESSFUL');
      return (end && ENDS[end.event]) ?? 'failed';
    }
  }
}
