import { REMOTE_BUCKETS, beginAtZero, counter, histogram } from '../telemetry/metrics';

/** The kind of account that a call to a lender or a bank is for. */
const ACCOUNT_MODES = ['sandbox', 'live'] as const;
export type AccountMode = (typeof ACCOUNT_MODES)[number];

export const lenderRequests = counter('lender_requests_total', 'Requests to the lender.', 'mode', 'outcome');
export const lenderDuration = histogram(
  'lender_request_duration_seconds',
  'Duration of a request to the lender.',
  REMOTE_BUCKETS,
  'mode',
);
export const paymentRequests = counter(
  'payment_requests_total',
  'Requests to the payment provider.',
  'mode',
  'call',
  'outcome',
);

const LENDER_OUTCOMES = ['approved', 'declined', 'failed', 'referred', 'action_required', 'unavailable', 'cancelled'];
/** The calls of a payment provider. */
export const PAYMENT_CALLS = ['start', 'statusOf', 'cancel', 'refund'] as const;
for (const mode of ACCOUNT_MODES) {
  beginAtZero(lenderRequests, 'outcome', LENDER_OUTCOMES, { mode });
  for (const call of PAYMENT_CALLS) beginAtZero(paymentRequests, 'outcome', ['succeeded', 'failed'], { mode, call });
}
