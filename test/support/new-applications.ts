import {
  findApplication,
  recordDecision,
  storeApplication,
  upsertPaymentTerm,
} from '../../src/checkout/db/applications';
import type { LenderDecision } from '../../src/checkout/domain/application';
import type { Db } from '../../src/db/pool';
import type { OrderEvent, OrderFacts, PaymentTerm } from '../../src/domain/order';
import { applyEvents } from './domain-orders';
import { insertNewOrder, saveChanges } from './new-orders';
import { APPLICANT } from './provider-details';

/** The digest of the browser that applies. */
export const BROWSER = Buffer.alloc(32, 1);

interface Given {
  /** That have happened to the order. */
  events?: OrderEvent[];
  term?: PaymentTerm;
  facts?: Partial<OrderFacts>;
}

/** Inserts an order whose customer has chosen a payment term. */
export async function newCheckout(db: Db, { events = ['signup_started'], term = 'PAY_LATER', facts }: Given = {}) {
  let order = await insertNewOrder(db, facts);
  const { id } = order;
  const change = async (...more: OrderEvent[]) => saveChanges(db, (order = applyEvents(order, ...more)));
  await upsertPaymentTerm(db, id, term);
  await change(...events);
  const application = async () => (await findApplication(db, id))!;
  return {
    id,
    change,
    application,
    submit: (given: Partial<Parameters<typeof storeApplication>[2]> = {}) =>
      storeApplication(db, id, { applicant: APPLICANT, browserDigest: BROWSER, ...given }),
    decide: async (decision: LenderDecision) => recordDecision(db, (await application()).id, decision),
  };
}
