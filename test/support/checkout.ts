import { storeApplication, upsertPaymentTerm } from '../../src/checkout/db/applications';
import type { Db } from '../../src/db/pool';
import { CHECKOUT_TASK_QUEUE, checkoutWorkflowId, proceedSignal } from '../../src/checkout/temporal/checkout-messages';
import { freePort } from '../../tools/local-stack/ports';
import { openOrder } from './orders';
import { type SharedStack, type Stack, type StackOptions, startStack } from './stack';
import { until } from './until';
import { useResource } from './use-resource';

/** Starts the service with the hosted checkout and the sandbox lender. The pages and the API share one address. */
export async function startCheckout(options: StackOptions = {}): Promise<Stack> {
  const port = String(await freePort());
  const env = {
    PORT: port,
    CHECKOUT_BASE_URL: `http://127.0.0.1:${port}`,
    HOSTED_CHECKOUT: 'true',
    SANDBOX_REFERRAL_MS: '2000',
    UPDATE_TIMEOUT_MS: '60000',
    ...options.env,
  };
  return startStack({ sandbox: true, ...options, env });
}

/** The service with the hosted checkout for the tests of a file. */
export function useCheckout(options?: StackOptions): Stack {
  return useResource(
    () => startCheckout(options),
    (stack) => stack.stop(),
  );
}

/** A response as the customer's browser shows it. */
interface CustomerPage {
  status: number;
  headers: Headers;
  text: string;
  heading: string;
}

export type Customer = ReturnType<typeof customerAt>;

const WAITING = 'Waiting for the decision';

/** A minimal browser: it keeps the cookie, and sends the hidden fields of the last form that it received. */
/** @param network the address that its proxy reports, for a service with TRUSTED_PROXIES=1 */
export function customerAt(orderUrl: string, network?: string) {
  let cookie = '';
  let hidden: Record<string, string> = {};

  async function call(url: string, init: RequestInit = {}): Promise<CustomerPage> {
    const response = await fetch(url, {
      redirect: 'manual',
      ...init,
      headers: {
        ...(cookie && { Cookie: cookie }),
        ...(network !== undefined && { 'X-Forwarded-For': network }),
        ...(init.headers as Record<string, string>),
      },
    });
    const text = await response.text();
    cookie = response.headers.get('Set-Cookie')?.split(';')[0] ?? cookie;
    if (text.includes('<form')) hidden = hiddenFields(text);
    const heading = /<h1>([^<]*)<\/h1>/.exec(text)?.[1]?.trim() ?? '';
    return { status: response.status, headers: response.headers, text, heading };
  }

  const customer = {
    look: (part = '') => call(orderUrl + part),
    /** Sends a form without following the redirect. */
    send: (part: string, fields: Record<string, string>, headers: Record<string, string> = {}) =>
      call(`${orderUrl}${part}/`, {
        method: 'POST',
        body: new URLSearchParams({ ...hidden, ...fields }),
        headers,
      }),
    /** Sends a form with one field whose value is percent-encoded already, such as bytes that are no text. */
    sendEncoded(part: string, fields: Record<string, string>, [name, encoded]: readonly [string, string]) {
      const others = Object.entries({ ...hidden, ...fields }).filter(([other]) => other !== name);
      return call(`${orderUrl}${part}/`, {
        method: 'POST',
        body: `${new URLSearchParams(others).toString()}&${name}=${encoded}`,
        headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
      });
    },
    /** Sends a form and follows the redirect. After an application, waits for the decision. */
    async submit(part: string, fields: Record<string, string>): Promise<CustomerPage> {
      const response = await customer.send(part, fields);
      if (response.status !== 303) return response;
      const target = new URL(response.headers.get('Location')!, orderUrl).href;
      return until(async () => {
        const page = await call(target);
        return part === 'application' && page.heading === WAITING ? undefined : page;
      }, 'the decision is made');
    },
    /** Chooses to pay now at a bank, and returns the address of the bank's page. */
    async startPayment(bank = 'oak'): Promise<string> {
      await customer.look();
      await customer.submit('choice', { payment_term: 'PAY_NOW' });
      await customer.submit('payment', { bank });
      return customer.bankPage();
    },
    /** The address of the bank's page of the payment in progress. */
    async bankPage(): Promise<string> {
      return /<a class="button" href="([^"]*)"/.exec((await customer.look('bank/')).text)?.[1] ?? '';
    },
    /** Does on the bank's page what a test customer does, and returns to the checkout. */
    async decideAtBank(bankPage: string, name: string, decision = 'approve'): Promise<CustomerPage> {
      await customer.leaveAtBank(bankPage, name, decision);
      await customer.look('return/');
      return customer.look();
    },
    /** As `decideAtBank`, but the browser never returns. */
    async leaveAtBank(bankPage: string, name: string, decision = 'approve'): Promise<CustomerPage> {
      await call(bankPage);
      const body = new URLSearchParams({ ...hidden, customer: name, decision });
      return call(bankPage, { method: 'POST', body });
    },
    /** Goes through the first two steps. */
    async apply(fields: Partial<typeof BUSINESS> = {}, term = 'PAY_LATER'): Promise<CustomerPage> {
      await customer.look();
      await customer.submit('choice', { payment_term: term });
      return customer.submit('application', { ...BUSINESS, ...fields });
    },
  };
  return customer;
}

function hiddenFields(page: string): Record<string, string> {
  const inputs = [...page.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)"/g)];
  return Object.fromEntries(inputs.map(([, name, value]) => [name, value?.replaceAll('&amp;', '&')]));
}

/** An application that the sandbox lender approves. */
export const BUSINESS = {
  business_name: 'Bloggs & Daughters Ltd',
  company_number: '01234567',
  email: 'jo@bloggs.example',
  monthly_turnover: '12,500',
};

/** Creates an order, waits until its workflow runs, and opens a browser for its customer. */
export async function newCustomer(stack: SharedStack, data: Record<string, unknown> = {}) {
  const id = await openOrder(stack, data);
  const { order_url: url } = (await stack.api.get(id)).body.data as { order_url: string };
  return { id, url, customer: customerAt(url) };
}

export const statusOfOrder = async (stack: SharedStack, id: string): Promise<string> =>
  (await stack.api.get(id)).body.data.status;

/** The target of the page's link that looks like a button. */
export const buttonTarget = (page: CustomerPage): string | undefined =>
  /<a class="button[ \w]*" href="([^"]*)"/.exec(page.text)?.[1];

/**
 * Creates an order with a submitted application, without the pages.
 * @param notify makes the checkout's workflow proceed; otherwise the application is in Postgres only
 */
export async function applied(stack: SharedStack, email: string, { notify = true, data = {} } = {}): Promise<string> {
  const id = await openOrder(stack, data, ['signup_started']);
  await submitApplication(stack, id, email);
  if (notify) await proceedCheckout(stack, id);
  return id;
}

/** Submits the application of a PENDING order. Nobody is told about it. */
export async function submitApplication(
  { db }: Pick<SharedStack, 'db'>,
  orderId: string,
  email: string,
): Promise<void> {
  await upsertPaymentTerm(db, orderId, 'PAY_LATER');
  const applicant = { businessName: 'Bloggs Ltd', companyNumber: '01234567', email, monthlyTurnoverPence: 1_250_000 };
  if (!(await storeApplication(db, orderId, { applicant, browserDigest: Buffer.alloc(32) })))
    throw new Error('the application was not submitted');
}

/** Makes an order's checkout ask the lender or the bank now, as the pages do. */
export async function proceedCheckout({ client }: Pick<SharedStack, 'client'>, orderId: string): Promise<void> {
  await client.workflow.signalWithStart('checkoutWorkflow', {
    taskQueue: CHECKOUT_TASK_QUEUE,
    workflowId: checkoutWorkflowId(orderId),
    args: [orderId],
    signal: proceedSignal,
    signalArgs: [],
  });
}

/** The call that an order's checkout makes or waits for, as the Temporal UI shows it under "Pending Activities". */
export async function pendingCall({ client }: Pick<SharedStack, 'client'>, orderId: string) {
  const { raw } = await client.workflow.getHandle(checkoutWorkflowId(orderId)).describe();
  const [activity] = raw.pendingActivities ?? [];
  return (
    activity && {
      name: activity.activityType?.name,
      attempt: activity.attempt,
      error: activity.lastFailure?.message,
      /** Until the next attempt. */
      waitMs: Number(activity.scheduledTime?.seconds ?? 0) * 1000 - Date.now(),
    }
  );
}

/** Ends the sandbox lender's referral or outage: it decides when it is asked again. */
export async function endReferral(db: Db, orderId: string): Promise<void> {
  await db.query(`update application set submitted_at = now() - interval '1 hour' where order_id = $1`, [orderId]);
}
