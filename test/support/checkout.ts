import { choosePaymentTerm, submitApplication } from '../../src/db/applications';
import { freePort } from '../../tools/local-stack/ports';
import { openOrder } from './orders';
import type { Stack } from './stack';
import { startStack } from './stack';

/** The service with its hosted checkout and the sandbox lender, customers and API at one address. */
export async function startCheckout(options: Parameters<typeof startStack>[0] = {}): Promise<Stack> {
  const port = String(await freePort());
  const env = {
    PORT: port,
    CHECKOUT_BASE_URL: `http://127.0.0.1:${port}`,
    CHECKOUT_LENDER: 'sandbox',
    SANDBOX_REFERRAL_MS: '2000',
    ...options.env,
  };
  return startStack({ ...options, env });
}

/** What a customer's browser shows. */
export interface Shown {
  status: number;
  headers: Headers;
  text: string;
  /** The page's one heading. */
  heading: string;
}

export type Customer = ReturnType<typeof customerAt>;

/** A customer's browser as far as a form needs one: it keeps the cookie and sends what the form it saw last hides. */
export function customerAt(orderUrl: string) {
  let cookie = '';
  let hidden: Record<string, string> = {};

  async function call(url: string, init: RequestInit = {}): Promise<Shown> {
    const response = await fetch(url, {
      redirect: 'manual',
      ...init,
      headers: { ...(cookie && { Cookie: cookie }), ...(init.headers as Record<string, string>) },
    });
    const text = await response.text();
    cookie = response.headers.get('Set-Cookie')?.split(';')[0] ?? cookie;
    if (text.includes('<form')) hidden = hiddenFields(text);
    const heading = /<h1>([^<]*)<\/h1>/.exec(text)?.[1]?.trim() ?? '';
    return { status: response.status, headers: response.headers, text, heading };
  }

  const customer = {
    look: (part = '') => call(orderUrl + part),
    /** Sends a form as the last page gave it, and does not follow where it leads. */
    send: (part: string, fields: Record<string, string>, headers: Record<string, string> = {}) =>
      call(`${orderUrl}${part}/`, {
        method: 'POST',
        body: new URLSearchParams({ ...hidden, ...fields }),
        headers,
      }),
    /** The same, and looks at the page that it leads to. */
    async submit(part: string, fields: Record<string, string>): Promise<Shown> {
      const answer = await customer.send(part, fields);
      return answer.status === 303 ? call(new URL(answer.headers.get('Location')!, orderUrl).href) : answer;
    },
    /** From the first page to where the application is sent. */
    async apply(fields: Partial<typeof BUSINESS> = {}, term = 'PAY_LATER'): Promise<Shown> {
      await customer.look();
      await customer.submit('choice', { payment_term: term });
      return customer.submit('application', { ...BUSINESS, ...fields });
    },
  };
  return customer;
}

function hiddenFields(page: string): Record<string, string> {
  const inputs = [...page.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)"/g)];
  return Object.fromEntries(inputs.map(([, name, value]) => [name, value]));
}

/** What the sandbox lender approves. */
export const BUSINESS = {
  business_name: 'Bloggs & Daughters Ltd',
  company_number: '01234567',
  email: 'jo@bloggs.example',
  monthly_turnover: '12,500',
};

/**
 * An order that waits for the lender, made without a page.
 * @param tell whether its workflow is told; else only Postgres knows of the application
 */
export async function applied(
  stack: Stack,
  email: string,
  { tell = true, sweepAfterMs = 60_000, data = {} } = {},
): Promise<string> {
  const id = await openOrder(stack, data, ['signup_started']);
  await choosePaymentTerm(stack.db, id, 'PAY_LATER');
  const applicant = { businessName: 'Bloggs Ltd', companyNumber: '01234567', email, monthlyTurnoverPence: 1_250_000 };
  if (!(await submitApplication(stack.db, id, 'PAY_LATER', applicant, sweepAfterMs)))
    throw new Error('the application was not taken');
  if (tell) await stack.client.workflow.getHandle(`order-${id}`).signal('applicationSubmitted');
  return id;
}
