import { findWebhooksToResend } from '../src/db/find-webhooks';
import type { Db } from '../src/db/pool';
import type { WebhookSelection } from '../src/domain/webhook';

/** A page of `resendWebhooksWorkflow`. */
const PAGE = 100;

interface SelectedWebhook {
  id: string;
  orderId: string;
}

interface ResendActivityOptions {
  db: Db;
  /** Resolves to false if nothing is resent, because the order waits for `reconcile`. */
  requestResend: (webhook: SelectedWebhook) => Promise<boolean>;
}

export type ResendActivities = ReturnType<typeof createResendActivities>;

/** Resends of many webhooks. */
export function createResendActivities({ db, requestResend }: ResendActivityOptions) {
  return {
    findWebhooksToResend: (selection: WebhookSelection): Promise<SelectedWebhook[]> =>
      findWebhooksToResend(db, selection, PAGE),

    requestResend,
  };
}
