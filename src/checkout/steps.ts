import type { Order, PaymentTerm } from '../domain/order';

/** A page's place among the steps of the checkout. */
export interface Step {
  /** From 1. */
  number: number;
  name: string;
  /** Undefined as long as the number of steps depends on the customer's choice. */
  total?: number;
}

const NAMES = {
  PAY_LATER: ['Payment method', 'Your business', 'Decision', 'Your agreement'],
  PAY_NOW: ['Payment method', 'Your bank', 'Your payment'],
} as const satisfies Record<PaymentTerm, readonly string[]>;

type StepName = (typeof NAMES)[PaymentTerm][number];

export const CHOICE_STEP: Step = { number: 1, name: 'Payment method' };

/** @param term the customer's; an order with one payment term has no step for the choice */
export function stepOf({ allowedPaymentTerms }: Order, term: PaymentTerm, name: StepName): Step {
  const all: readonly string[] = NAMES[term];
  const names = allowedPaymentTerms.length === 1 ? all.slice(1) : all;
  return { number: names.indexOf(name) + 1, name, total: names.length };
}
