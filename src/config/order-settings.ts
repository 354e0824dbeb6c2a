import { z } from 'zod';
import { MAX_EXPIRY_DAYS } from '../domain/order';
import { MAX_POUNDS, poundsToPence } from '../domain/money';
import { DAY, MINUTE, SECOND, baseUrl, days, flag, httpUrl, integer, milliseconds, setting } from './setting';

const documentUrl = httpUrl().optional();
const WAY_BACK = "`{pay_link_id}` in it becomes the order's, for a link back.";

export const checkoutSettings = {
  checkoutBaseUrl: setting(
    'CHECKOUT_BASE_URL',
    baseUrl(),
    'URL of the checkout as customers see it, without a query. `order_url` is `<this>/pay/<pay_link_id>/`. ' +
      'The proxy [strips](../lenders/checkout.md#steps) a path in it.',
  ),
  hostedCheckout: z.object({
    enabled: setting(
      'HOSTED_CHECKOUT',
      flag(),
      'Serves the [hosted checkout](../lenders/checkout.md): [sandbox accounts](deploy.md#accounts) use the ' +
        'sandbox lender, live ones the lender that you have [connected](../lenders/connect.md). ' +
        'Otherwise, your own checkout is at `CHECKOUT_BASE_URL`.',
    ),
    lenderName: setting(
      'CHECKOUT_LENDER_NAME',
      z.string().trim().min(1).max(100).default('Sandbox Lender'),
      'Name of the lender on the checkout pages.',
    ),
    privacyUrl: setting('CHECKOUT_PRIVACY_URL', documentUrl, `Privacy notice. ${WAY_BACK} Default: a sample.`),
    termsUrl: setting('CHECKOUT_TERMS_URL', documentUrl, `Terms of use. ${WAY_BACK} Default: a sample.`),
    creditAgreementUrl: setting(
      'CHECKOUT_CREDIT_AGREEMENT_URL',
      documentUrl,
      `Credit agreement that customers who pay later agree to. ${WAY_BACK} Default: a sample.`,
    ),
    sandboxReferralMs: setting(
      'SANDBOX_REFERRAL_MS',
      milliseconds(0, DAY).default(20 * SECOND),
      'Time that the sandbox lender takes for a referred application, and the sandbox bank for a slow payment.',
    ),
    applicationRetentionMs: setting(
      'APPLICATION_RETENTION_MS',
      milliseconds(1000, 3660 * DAY).default(30 * DAY),
      "Time that a customer's application is kept after the order has closed, or was last changed.",
    ),
  }),
};

export const orderSettings = {
  maxAmountPence: setting(
    'MAX_ORDER_AMOUNT',
    z.coerce
      .number('must be an amount in pounds')
      .meta({ unit: 'pounds' })
      .default(10_000_000)
      .transform((pounds, context) => {
        const pence = poundsToPence(pounds);
        if (pence !== undefined && pence > 0 && pounds < MAX_POUNDS) return pence;
        context.addIssue('must be an amount in pounds above 0, with at most 2 decimals');
        return z.NEVER;
      }),
    'Largest amount of an order, unless the account has a lower limit.',
  ),
  orderExpiresAfterMs: setting(
    'ORDER_EXPIRES_AFTER_MS',
    milliseconds(1000, MAX_EXPIRY_DAYS * DAY).optional(),
    'Time after creation at which an open order becomes UNSUCCESSFUL, unless the order states its own. Applies to new ' +
      'orders. Default: 24 h with the hosted checkout; otherwise orders do not expire.',
  ),
};

export const retentionSettings = {
  retention: z.object({
    webhookDays: setting(
      'WEBHOOK_RETENTION_DAYS',
      days().default(90),
      'Age at which body and attempts of a webhook that has ended are deleted. Its line, with state and times, stays ' +
        'with the order.',
    ),
    orderDays: setting(
      'ORDER_RETENTION_DAYS',
      days().optional(),
      'Time after its last change at which a closed order of a live account is deleted, with everything that belongs ' +
        'to it. Default: orders are kept for ever.',
    ),
    sandboxDays: setting(
      'SANDBOX_RETENTION_DAYS',
      days().default(30),
      'The same for closed orders of sandbox accounts.',
    ),
  }),
};

export const workflowSettings = {
  updateTimeoutMs: setting(
    'UPDATE_TIMEOUT_MS',
    milliseconds(100, MINUTE).default(10 * SECOND),
    'Time that a cancel or a progress report waits for the workflow.',
  ),
  maxCachedWorkflows: setting(
    'MAX_CACHED_WORKFLOWS',
    integer(0, 100_000).default(500),
    'Workflows that a worker keeps in memory.',
  ),
};
