import { defineSignal } from '@temporalio/workflow';

/** Checkout workflows, and the calls to lenders and banks. */
export const CHECKOUT_TASK_QUEUE = 'checkout';

/** The customer has submitted an application, agreed to an offer or started a payment. */
export const proceedSignal = defineSignal('proceed');

export const CHECKOUT_ID_PREFIX = 'checkout-';

/** The workflow that writes to the applicant of an order. */
export const mailWorkflowId = (orderId: string): string => `mail-${orderId}`;

export const checkoutWorkflowId = (orderId: string): string => CHECKOUT_ID_PREFIX + orderId;
