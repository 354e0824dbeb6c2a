import { formatPence } from '../../domain/money';
import { type Html, html } from '../../html/html';
import { EMPTY_FORM } from '../domain/application-form';
import { declineReason } from './closed';
import type { Page } from './layout';
import { bankName, banksOf } from './provider-details';
import { form, radioGroup, switchButton, typedValues, withdrawForm } from './form';
import type { FormView } from './view';

const MISSING = 'Select your bank';
/** The form field with the chosen bank. */
export const BANK = 'bank';

/**
 * The customer who pays now chooses a bank, perhaps because the lender has declined.
 * @param typed what the customer has typed in the application to pay later
 * @param isMissing true if the form was sent without a bank
 */
export function bankPage(view: FormView, typed = EMPTY_FORM, isMissing = false): Page {
  const { order, application, payment, providerDetails, elsewhere } = view;
  const { lenderName, payNow } = providerDetails;
  const decision = application?.submitted ? application.decision : undefined;
  const decline = decision?.kind === 'declined' ? decision : undefined;
  const canPayLater = order.allowedPaymentTerms.includes('PAY_LATER') && !decline;
  const title = decline && !payment ? 'Pay later was not approved' : 'Choose your bank';
  const amount = formatPence(order.amountPence);
  const [first] = banksOf(providerDetails);
  return {
    ...(isMissing && first && { status: 422, errors: [{ field: first.id, message: MISSING }] }),
    title,
    step: 'Your bank',
    content: html`${!isMissing && message(view, canPayLater)}
      <h1>${title}</h1>
      ${
        decline && !payment
          ? html`<p>${declineReason(decline.code, lenderName)} You owe nothing.</p>
              <h2>Pay now instead</h2>
              <p>You can still buy: pay ${amount} from your bank account. There is no credit check.</p>`
          : html`<p>Pay ${amount} to ${order.sellerName} now.</p>`
      }
      ${form(
        view,
        'payment',
        html`${radioGroup(
            BANK,
            html`<span class="visually-hidden">Your bank</span>`,
            banksOf(providerDetails).map(({ id, name }) => ({ value: id, label: name, lines: [] })),
            { error: isMissing ? MISSING : undefined },
          )}
          <button>Continue to your bank</button>
          ${canPayLater && html`${switchButton(view, 'PAY_LATER')} ${typedValues(typed)}`}
          <p class="note">
            You approve the payment at your bank. ${payNow?.name} starts it there, and never sees your password.
          </p>`,
      )}
      ${elsewhere} ${decision && withdrawForm(view, order.sellerName, decision.kind)}`,
  };
}

/** Customers can return from their bank in another browser, which may know the result, but not the bank. */
function message({ payment, isApplicant, providerDetails }: FormView, canPayLater: boolean): Html | false {
  if (!payment) return false;
  const bank = isApplicant ? bankName(providerDetails, payment.bank) : undefined;
  const atBank = bank === undefined ? '' : ` at ${bank}`;
  const what = {
    refused: `${bank ?? 'The bank'} refused the payment. No money was taken.`,
    refunded: `The payment${atBank} was returned to your account.`,
    other: `The payment${atBank} was cancelled. No money was taken.`,
  };
  const { status, isOpen } = payment;
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
