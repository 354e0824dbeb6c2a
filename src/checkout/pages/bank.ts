import { formatPence } from '../../domain/money';
import type { Order } from '../../domain/order';
import type { Payment } from '../domain/payment';
import { type Html, html } from '../../html/html';
import type { FormValues } from '../domain/application-form';
import type { Page } from './layout';
import { type ProviderDetails, bankName, banksOf } from './provider-details';
import { type FormContext, form, radioGroup, switchButton, typedValues } from './form';

const TITLE = 'Choose your bank';
const MISSING = 'Select your bank';
/** The form field with the chosen bank. */
export const BANK = 'bank';

export interface BankOptions extends FormContext {
  order: Order;
  providerDetails: ProviderDetails;
  /** The payment that was not made. */
  lastPayment: Payment | undefined;
  /** True if the browser may know at which bank. */
  isApplicant: boolean;
  /** True if the customer can still pay later. */
  canPayLater: boolean;
  /** What the customer has typed in the application to pay later. */
  typed: FormValues;
  isMissing: boolean;
  /** How the customer ends the order; undefined if leaving the page is enough. */
  withdraw: Html | undefined;
  /** How the customer opens the page on another device; undefined before an application is submitted. */
  elsewhere: Html | undefined;
}

/** The customer who pays now chooses a bank. */
export function chooseBankPage(options: BankOptions): Page {
  const { order, isMissing, withdraw, elsewhere } = options;
  return {
    ...withError(options),
    title: TITLE,
    step: 'Your bank',
    content: html`${!isMissing && message(options)}
      <h1>${TITLE}</h1>
      <p>Pay ${formatPence(order.amountPence)} to ${order.sellerName} now.</p>
      ${bankForm(options)} ${elsewhere} ${withdraw}`,
  };
}

/** The banks and a button. */
export function bankForm(options: BankOptions): Html {
  const { providerDetails, isMissing, canPayLater, typed } = options;
  return form(
    options,
    'payment',
    html`${radioGroup(
        BANK,
        html`<span class="visually-hidden">Your bank</span>`,
        banksOf(providerDetails).map(({ id, name }) => ({ value: id, label: name, lines: [] })),
        { error: isMissing ? MISSING : undefined },
      )}
      <button>Continue to your bank</button>
      ${canPayLater && html`${switchButton(options, 'PAY_LATER')} ${typedValues(typed)}`}
      <p class="note">
        You approve the payment at your bank. ${providerDetails.payNow?.name} starts it there, and never sees your
        password.
      </p>`,
  );
}

/** The status and the error summary of a page with the banks. */
export function withError({
  providerDetails,
  isMissing,
}: Pick<BankOptions, 'providerDetails' | 'isMissing'>): Partial<Page> {
  const [first] = banksOf(providerDetails);
  return isMissing && first ? { status: 422, errors: [{ field: first.id, message: MISSING }] } : {};
}

/** Customers can return from their bank in another browser, which may know the result, but not the bank. */
function message({ lastPayment, isApplicant, providerDetails, canPayLater }: BankOptions): Html | false {
  if (!lastPayment) return false;
  const bank = isApplicant ? bankName(providerDetails, lastPayment.bank) : undefined;
  const atBank = bank === undefined ? '' : ` at ${bank}`;
  const what = {
    refused: `${bank ?? 'The bank'} refused the payment. No money was taken.`,
    refunded: `The payment${atBank} was returned to your account.`,
    other: `The payment${atBank} was cancelled. No money was taken.`,
  };
  const { status, isOpen } = lastPayment;
  // The bank has reported it as paid meanwhile.
  if (isOpen && (status === 'refused' || status === 'cancelled'))
    return html`<p class="message" role="status">
      The payment${atBank} did not complete your order. If you approved it, it is returned to your account. Choose a
      bank to try again.
    </p>`;
  const text = what[status === 'refused' || status === 'refunded' ? status : 'other'];
  const help =
    status === 'refused'
      ? 'Often the amount is above a daily limit: ask your bank to raise it, or choose another bank.'
      : 'Choose a bank to try again.';
  return html`<p class="message" role="status">
    ${text} ${help} ${canPayLater && 'You can also select “Pay later instead”.'}
  </p>`;
}
