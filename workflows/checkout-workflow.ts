import {
  ActivityCancellationType,
  ActivityFailure,
  CancellationScope,
  condition,
  continueAsNew,
  isCancellation,
  proxyActivities,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { CheckoutActivities, CheckoutReport } from '../activities/checkout-activities';
import { proceedSignal } from './checkout-messages';

const options = {
  startToCloseTimeout: '30 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
} as const;
const { findNextStep, askLender, askBank, reportToOrder, keepPayment, refundPayments } =
  proxyActivities<CheckoutActivities>(options);

const PAY_LATER = { reason: null, paymentTerm: 'PAY_LATER' } as const;
const PAY_NOW = { reason: null, paymentTerm: 'PAY_NOW' } as const;

/**
 * The customer's way through the hosted checkout: asks the lender for a decision, or the bank for a payment, however
 * long they take; reports the result to the order; and sends money back if the order closed meanwhile.
 */
export async function checkoutWorkflow(orderId: string): Promise<void> {
  // The customer has submitted an application, agreed to an offer or started a payment.
  let mayProceed = true;
  setHandler(proceedSignal, () => {
    mayProceed = true;
  });

  const report = (result: CheckoutReport): Promise<void> =>
    reportToOrder.executeWithOptions({ summary: `report ${result.event}` }, [orderId, result]);

  async function payLater(): Promise<void> {
    const result = await unless(
      () => mayProceed,
      () => askLender.executeWithOptions({ summary: 'ask the lender' }, [orderId]),
    );
    if (result) await report(result);
  }

  async function payNow(): Promise<void> {
    const result = await unless(
      () => mayProceed,
      () => askBank.executeWithOptions({ summary: 'ask the bank' }, [orderId]),
    );
    if (result === 'paid') {
      await report({ event: 'approved', actor: 'checkout', ...PAY_NOW });
      await report({ event: 'completed', actor: 'customer', ...PAY_NOW });
    }
    if (result === 'paid' || result === 'the order is closed') await keepOrRefund();
  }

  async function keepOrRefund(): Promise<void> {
    const isKept = await keepPayment.executeWithOptions({ summary: 'keep the payment that completed it' }, [orderId]);
    if (!isKept) await refundPayments.executeWithOptions({ summary: 'refund, or cancel at the bank' }, [orderId]);
  }

  // Money has to go back even if a person requests the cancellation of this workflow.
  await CancellationScope.nonCancellable(async () => {
    while (mayProceed) {
      if (workflowInfo().continueAsNewSuggested) await continueAsNew<typeof checkoutWorkflow>(orderId);
      mayProceed = false;
      const step = await findNextStep.executeWithOptions({ summary: 'find the next step' }, [orderId]);
      if (step === 'ask the lender') await payLater();
      if (step === 'report the agreement') await report({ event: 'completed', actor: 'customer', ...PAY_LATER });
      if (step === 'ask the bank') await payNow();
      if (step === 'keep or refund') await keepOrRefund();
    }
  });
}

/** Cancels the wait of `ask` when the customer does something else. @returns undefined then */
async function unless<T>(hasMoved: () => boolean, ask: () => Promise<T>): Promise<T | undefined> {
  const scope = new CancellationScope();
  let isAnswered = false;
  void condition(() => hasMoved() || isAnswered).then(() => {
    if (!isAnswered) scope.cancel();
  });
  try {
    return await scope.run(ask);
  } catch (error) {
    if (isCancellation(error) || (error instanceof ActivityFailure && error.retryState === 'CANCEL_REQUESTED'))
      return undefined;
    throw error;
  } finally {
    isAnswered = true;
  }
}
