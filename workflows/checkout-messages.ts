import { defineSignal } from '@temporalio/workflow';

/** The customer has submitted an application, agreed to an offer or started a payment. */
export const proceedSignal = defineSignal('proceed');

export const checkoutWorkflowId = (orderId: string): string => `checkout-${orderId}`;
