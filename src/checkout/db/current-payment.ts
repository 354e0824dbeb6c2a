/** SQL, `isCurrent` for the `status` of a payment: it is in progress or paid. An order has at most one of them. */
export const CURRENT_PAYMENT = `status in ('pending', 'processing', 'paid')`;
