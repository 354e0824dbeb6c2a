import {
  ActivityCancellationType,
  ActivityFailure,
  CancellationScope,
  continueAsNew,
  isCancellation,
  proxyActivities,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { CheckoutActivities, CheckoutReport } from './checkout-activities';
import type { MailActivities } from './mail-activities';
import { proceedSignal } from './checkout-messages';

const options = {
  startToCloseTimeout: '30 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
} as const;
const { findNextStep, askLender, askBank, reportToOrder, settlePayments, askForSettlement } =
  proxyActivities<CheckoutActivities>(options);

const { sendDueMails } = proxyActivities<MailActivities>({
  startToCloseTimeout: '1 minute',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '10 minutes' },
});

const PAY_LATER = { reason: null, paymentTerm: 'PAY_LATER' } as const;
const PAY_NOW = { reason: null, paymentTerm: 'PAY_NOW' } as const;

/**
 * The customer's way through the hosted checkout: asks the lender for a decision, or the bank for a payment, however
 * long they take; reports the result to the order; sends money back if the order closed meanwhile; and asks for the
 * settlement of a completed order.
 */
export async function checkoutWorkflow(orderId: string): Promise<void> {
  let mayProceed = true;
  let waiting: CancellationScope | undefined;
  // The customer has submitted an application, agreed to an offer or started a payment.
  setHandler(proceedSignal, () => {
    mayProceed = true;
    waiting?.cancel();
  });

  /** Waits for the lender or the bank. @returns undefined if the customer does something else meanwhile */
  async function ask<T>(call: () => Promise<T>): Promise<T | undefined> {
    waiting = new CancellationScope();
    try {
      return await waiting.run(call);
    } catch (error) {
      if (isCancellation(error) || (error instanceof ActivityFailure && error.retryState === 'CANCEL_REQUESTED'))
        return undefined;
      throw error;
    } finally {
      waiting = undefined;
    }
  }

  async function report(result: CheckoutReport): Promise<void> {
    const summary = `report ${result.event}`;
    if (await reportToOrder.executeWithOptions({ summary }, [orderId, result])) mayProceed = true;
  }

  // Money has to go back even if a person requests the cancellation of this workflow.
  await CancellationScope.nonCancellable(async () => {
    while (mayProceed) {
      if (workflowInfo().continueAsNewSuggested) await continueAsNew<typeof checkoutWorkflow>(orderId);
      // A signal during `findNextStep` repeats the loop; the step that is made before that reads what has changed.
      mayProceed = false;
      const step = await findNextStep(orderId);
      if (step === 'ask the lender') {
        const decision = await ask(() => askLender(orderId));
        if (decision) await report(decision);
      }
      if (step === 'report the agreement') await report({ event: 'completed', actor: 'customer', ...PAY_LATER });
      const result = step === 'ask the bank' ? await ask(() => askBank(orderId)) : undefined;
      if (result === 'paid') {
        await report({ event: 'approved', actor: 'checkout', ...PAY_NOW });
        await report({ event: 'completed', actor: 'customer', ...PAY_NOW });
      }
      if (step === 'keep or refund' || result) {
        if (await ask(() => settlePayments.executeWithOptions({ summary: 'keep or refund' }, [orderId])))
          mayProceed = true;
      }
      if (step === 'ask for the settlement') await ask(() => askForSettlement(orderId));
    }
  });
}

/**
 * Writes to the applicant of an order. A workflow of its own, so that nothing waits for the mail server. It ends when no mail
 * is due: one that cannot be sent is given up after three days.
 */
export async function mailWorkflow(orderId: string): Promise<void> {
  await sendDueMails(orderId);
}
