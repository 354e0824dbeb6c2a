import type { Logger } from 'pino';
import { repeatJobs } from '../../concurrency';
import type { Db } from '../../db/pool';
import type { BacklogGauges } from '../../telemetry/gauges';
import type { CheckoutWorkflows } from './checkout-workflow-client';
import { closeApplications, findOrdersToMail } from '../db/mails';
import { type PaymentBacklog, findUnfinishedCheckouts, readPaymentBacklog } from '../db/payments';
import type { MailAccounts } from '../../mail/mailer';
import type { PaymentProviders } from '../payments/payment-provider';

/** Runs that one round starts. */
const BATCH = 500;

/** Times in ms. */
interface CheckoutJobOptions {
  db: Db;
  workflows: CheckoutWorkflows;
  payments: PaymentProviders;
  /** The accounts whose applicants we write to. */
  mails: MailAccounts;
  log: Logger;
  /** Between two rounds. */
  intervalMs: number;
}

/**
 * Starts checkouts that Temporal could not be told about or that are stuck, and writes to applicants. Each job is safe to
 * run in all workers at once.
 * @returns a function that stops the jobs and resolves once they have stopped
 */
export function startCheckoutJobs(options: CheckoutJobOptions): () => Promise<void> {
  const { db, workflows, payments, mails, log, intervalMs } = options;
  const canPayNow = { sandbox: payments.sandbox !== undefined, live: payments.live !== undefined };

  async function startCheckouts(): Promise<void> {
    await closeApplications(db, mails);
    for (const order of await findUnfinishedCheckouts(db, BATCH, canPayNow)) await workflows.start(order);
  }

  async function writeToApplicants(): Promise<void> {
    for (const order of await findOrdersToMail(db, mails, BATCH)) await workflows.sendMails(order);
  }

  /** The other job starts their checkouts again, from the tables. */
  async function terminateStuck(): Promise<void> {
    for await (const { orderId, runId } of workflows.findStuck()) {
      if (await workflows.wasJustTerminated(orderId)) continue;
      log.error(
        { order_id: orderId, run_id: runId },
        'the workflow tasks of a checkout keep failing: replacing its run',
      );
      await workflows.terminate(orderId, runId, 'its workflow tasks keep failing');
    }
  }

  return repeatJobs(
    [
      [terminateStuck, intervalMs],
      [startCheckouts, intervalMs],
      [writeToApplicants, intervalMs],
    ],
    log,
  );
}

/** The gauges of a service with the hosted checkout. */
export const CHECKOUT_BACKLOG: BacklogGauges<keyof PaymentBacklog> = {
  names: {
    paymentsToReverse: ['payments_to_reverse', 'Payments of live accounts that have to be cancelled or refunded.'],
    oldestPaymentToReverseSeconds: [
      'oldest_payment_to_reverse_seconds',
      'Time since the first of these payments had to be.',
    ],
  },
  read: async (db) => ({ ...(await readPaymentBacklog(db)) }),
};
