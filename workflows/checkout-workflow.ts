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
import type { CheckoutActivities, CheckoutResult } from '../activities/checkout-activities';
import { proceedSignal } from './checkout-messages';

const options = {
  startToCloseTimeout: '30 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
} as const;
const { askForResult, reportToOrder, reversePayments } = proxyActivities<CheckoutActivities>(options);

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

  // Money has to go back even if a person requests the cancellation of this workflow.
  await CancellationScope.nonCancellable(async () => {
    while (mayProceed) {
      if (workflowInfo().continueAsNewSuggested) await continueAsNew<typeof checkoutWorkflow>(orderId);
      mayProceed = false;
      const result = await unless(
        () => mayProceed,
        () => askForResult.executeWithOptions({ summary: 'ask the lender or the bank' }, [orderId]),
      );
      if (!result) continue;
      for (const report of result.reports) {
        await reportToOrder.executeWithOptions({ summary: `report ${report.event}` }, [orderId, report]);
      }
      if (result.hasPayment)
        await reversePayments.executeWithOptions({ summary: 'send back money that bought nothing' }, [orderId]);
    }
  });
}

/** Cancels the wait of `ask` when the customer does something else. @returns undefined then */
async function unless(
  hasMoved: () => boolean,
  ask: () => Promise<CheckoutResult>,
): Promise<CheckoutResult | undefined> {
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
