import { formatPence } from '../../domain/money';
import type { Order } from '../../domain/order';
import type { Payment } from '../domain/payment';
import { type Html, html } from '../html';
import type { Page } from '../layout';
import { type ProviderDetails, bankName } from '../provider-details';
import { stepOf } from '../steps';
import { type FormContext, form, radioGroup } from './form';

const TITLE = 'Choose your bank';
const MISSING = 'Select your bank';
/** The form field with the chosen bank. */
export const BANK = 'bank';

export interface BankOptions extends FormContext {
  order: Order;
  providerDetails: ProviderDetails;
  /** The payment that was not made, if the browser may know it. */
  lastPayment: Payment | undefined;
  /** True if the customer can still choose another payment method. */
  canChange: boolean;
  isMissing: boolean;
  /** How the customer ends the order; undefined if leaving the page is enough. */
  withdraw: Html | undefined;
  /** How the customer continues in another browser; undefined before an application is submitted. */
  code: Html | undefined;
}

/** The customer who pays now chooses a bank. */
export function chooseBankPage(options: BankOptions): Page {
  const { order, canChange, path, isMissing, withdraw, code } = options;
  return {
    ...withError(options),
    title: TITLE,
    step: stepOf(order, 'PAY_NOW', 'Your bank'),
    content: html`${!isMissing && message(options)}
      <h1>${TITLE}</h1>
      <p>
        Pay ${formatPence(order.amountPence)} to ${order.sellerName} now.
        ${canChange && html`<a href="${path}/?change">Change payment method</a>`}
      </p>
      ${bankForm(options)} ${code} ${withdraw}`,
  };
}

/** The banks and a button. */
export function bankForm(options: Pick<BankOptions, 'path' | 'token' | 'providerDetails' | 'isMissing'>): Html {
  const { providerDetails, isMissing } = options;
  return form(
    options,
    'payment',
    html`${radioGroup(
        BANK,
        html`<span class="visually-hidden">Your bank</span>`,
        providerDetails.banks.map(({ id, name }) => ({ value: id, label: name, lines: [] })),
        { error: isMissing ? MISSING : undefined },
      )}
      <p class="note">You approve the payment at your bank. We never see your password or your account.</p>
      <button>Continue to your bank</button>`,
  );
}

/** The status and the error summary of a page with the banks. */
export function withError({
  providerDetails,
  isMissing,
}: Pick<BankOptions, 'providerDetails' | 'isMissing'>): Partial<Page> {
  const first = providerDetails.banks[0];
  return isMissing && first ? { status: 422, errors: [{ field: first.id, message: MISSING }] } : {};
}

function message({ lastPayment, providerDetails }: BankOptions): Html | false {
  if (!lastPayment) return false;
  const bank = bankName(providerDetails, lastPayment.bank);
  const what =
    lastPayment.status === 'refused' ? `${bank} refused the payment.` : `The payment at ${bank} was cancelled.`;
  return html`<p class="message" role="status">${what} No money was taken. Choose a bank to try again.</p>`;
}
