import { monthlyInstalments } from '../../src/checkout/lender/instalments';
import {
  type Lender,
  type LenderAnswer,
  type LenderApplication,
  LenderUnavailable,
} from '../../src/checkout/lender/lender';

/** What Acme's API answers to `PUT /applications/<id>`. */
interface AcmeApplication {
  status: 'approved' | 'declined' | 'invalid' | 'in_review' | 'needs_customer';
  repayments?: { month: number; pence: number }[];
  reason?: string;
  customer_url?: string;
}

const INSTALMENTS = 3;
const ASK_AGAIN_MS = 30_000;

export function createAcmeLender(apiUrl: string, apiKey: string): Lender {
  /** A repeated PUT of one id is the same application, so retries are safe. */
  async function put({ id, ...application }: LenderApplication, signal: AbortSignal): Promise<AcmeApplication> {
    const { applicant, amountPence, returnUrl } = application;
    const response = await fetch(`${apiUrl}/applications/${id}`, {
      method: 'PUT',
      headers: { Authorization: `Bearer ${apiKey}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ ...applicant, amount_pence: amountPence, return_url: returnUrl }),
      signal,
    }).catch((cause: unknown) => {
      throw new LenderUnavailable('Acme cannot be reached', { cause });
    });
    // Temporal keeps the message: never the body, which can quote the applicant.
    if (!response.ok) throw new LenderUnavailable(`Acme answered with status ${response.status}`);
    return (await response.json()) as AcmeApplication;
  }

  return {
    reviewTime: 'about 2 hours',
    quote: ({ amountPence, pricing }, today) => monthlyInstalments(amountPence, INSTALMENTS, today, pricing),
    decide: async (application, signal) => toAnswer(await put(application, signal)),
  };
}

function toAnswer({ status, repayments = [], reason, customer_url: url = '' }: AcmeApplication): LenderAnswer {
  switch (status) {
    case 'approved': {
      const instalments = repayments.map(({ month, pence }) => ({ dueInMonths: month, amountPence: pence }));
      return { kind: 'approved', offer: { instalments } };
    }
    case 'declined':
      return { kind: 'declined', code: reason === 'affordability' ? reason : 'other' };
    case 'invalid':
      return { kind: 'failed' };
    case 'in_review':
      return { kind: 'referred', askAgainMs: ASK_AGAIN_MS };
    case 'needs_customer':
      return { kind: 'action_required', url, askAgainMs: ASK_AGAIN_MS };
  }
}
