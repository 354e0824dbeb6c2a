import { Worker } from '@temporalio/worker';
import { CHECKOUT_TASK_QUEUE } from '../../src/checkout/temporal/checkout-messages';

/** For `node --require`: the Temporal worker that calls the lender fails soon after its start. */
const create = Worker.create.bind(Worker);
Worker.create = async (options) => {
  const worker = await create(options);
  if (options.taskQueue !== CHECKOUT_TASK_QUEUE) return worker;
  const run = worker.run.bind(worker);
  worker.run = async () => {
    setTimeout(() => worker.shutdown(), 1000);
    await run();
    throw new Error('this worker fails');
  };
  return worker;
};
