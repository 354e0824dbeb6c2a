import type { Order, PaymentTerm } from '../domain/order';

export type Step = 'Payment method' | 'Your application' | 'Your agreement' | 'Your bank' | 'Your payment';

/** The place of each step if the customer can choose the payment term. Then both have three steps. */
const STEPS: Record<Step, { number: number; paymentTerm?: PaymentTerm }> = {
  'Payment method': { number: 1 },
  'Your application': { number: 2, paymentTerm: 'PAY_LATER' },
  'Your agreement': { number: 3, paymentTerm: 'PAY_LATER' },
  'Your bank': { number: 2, paymentTerm: 'PAY_NOW' },
  'Your payment': { number: 3, paymentTerm: 'PAY_NOW' },
};
const TOTAL = 3;

/** The payment term of a step; undefined for the choice. */
export function termOf(step: Step): PaymentTerm | undefined {
  return STEPS[step].paymentTerm;
}

/** The place of a step, from 1, and the number of steps. An order with one payment term has no step for the choice. */
export function placeOf(step: Step, { allowedPaymentTerms }: Order): { number: number; total: number } {
  const skipped = allowedPaymentTerms.length === 1 ? 1 : 0;
  return { number: STEPS[step].number - skipped, total: TOTAL - skipped };
}
