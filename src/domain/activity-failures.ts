/** Failure type of a save of an expiry, after the customer has agreed to the offer or paid. */
export const CUSTOMER_AGREED_FAILURE = 'CustomerAgreed';

/** Failure type of a save of an expiry while the bank confirms a payment. */
export const PAYMENT_PROCESSING_FAILURE = 'PaymentProcessing';

/** Failure type of a call to the lender that a worker does not make, because it already makes as many as it may. */
export const LENDER_BUSY_FAILURE = 'LenderBusy';

/** Failure type of a call to the payment provider that is retried. */
export const BANK_UNAVAILABLE_FAILURE = 'BankUnavailable';
