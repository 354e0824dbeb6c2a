import type { SandboxPayment } from '../db/sandbox-payments';
import { formatPence } from '../../domain/money';
import type { PaymentStatus } from '../domain/payment';
import { BANK_TEST_CUSTOMERS, describeOutcome } from './test-customers';
import { type Html, html, row } from '../../html/html';
import type { Page } from '../pages/layout';
import { type FormContext, form, radioGroup } from '../pages/form';

/** The form fields. */
export const CUSTOMER = 'customer';
export const DECISION = 'decision';
const MISSING = 'Select a test customer';
const NOTICE = 'Sandbox bank: no real bank, and no money moves.';

/** A payment that was started. */
export type PaymentOnPage = SandboxPayment & NonNullable<SandboxPayment['details']>;

interface SandboxBankOptions extends FormContext {
  payment: PaymentOnPage;
  status: PaymentStatus;
  bankName: string;
  isMissing: boolean;
}

/** The page of the sandbox bank: a test customer approves or cancels a payment. */
export function sandboxBankPage(options: SandboxBankOptions): Page {
  const { payment, status, bankName, isMissing } = options;
  const isOpen = status === 'pending' && payment.customer === null;
  const title = isOpen ? 'Approve a payment' : RESULTS[status];
  return {
    title: `${title} – ${bankName}`,
    notice: NOTICE,
    status: isMissing ? 422 : 200,
    ...(isMissing && { errors: [{ field: BANK_TEST_CUSTOMERS[0]?.name ?? CUSTOMER, message: MISSING }] }),
    content: html`<p class="bank">${bankName}</p>
      <h1>${title}</h1>
      <dl>
        ${row('To', payment.payee)} ${row('Amount', formatPence(payment.amountPence))}
        ${row('Reference', payment.reference)}
      </dl>
      ${isOpen ? decisionForm(options) : html`<a class="button" href="${payment.returnUrl}">Back to your order</a>`}`,
  };
}

const RESULTS: Record<PaymentStatus, string> = {
  pending: 'You left without approving this payment',
  processing: 'Your payment is being processed',
  paid: 'You approved this payment',
  refused: 'This payment was refused',
  cancelled: 'This payment was cancelled. No money was taken',
  refunded: 'This payment was returned to your account',
};

function decisionForm(options: SandboxBankOptions): Html {
  const { payment, isMissing } = options;
  return form(
    options,
    payment.id,
    html`${radioGroup(
        CUSTOMER,
        html`<h2>Which test customer approves?</h2>`,
        BANK_TEST_CUSTOMERS.map((customer) => ({
          value: customer.name,
          label: customer.name,
          lines: [describeOutcome(customer)],
        })),
        { chosen: isMissing ? undefined : 'approved', error: isMissing ? MISSING : undefined },
      )}
      <button name="${DECISION}" value="approve">Approve payment</button>
      <button name="${DECISION}" value="cancel" class="secondary">Cancel</button>`,
  );
}
