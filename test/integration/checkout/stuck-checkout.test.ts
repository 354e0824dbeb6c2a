import { NativeConnection, Worker } from '@temporalio/worker';
import { findOrder } from '../../../src/db/orders';
import { checkoutWorkflowId } from '../../../src/checkout/temporal/checkout-messages';
import { applied, useCheckout } from '../../support/checkout';
import { constants } from '../../support/constants';
import { until } from '../../support/until';

const stack = useCheckout({ env: constants({ background: { intervalMs: 100 } }) });

test('a checkout whose workflow tasks keep failing is started again', async () => {
  const { namespace } = stack.client.options;
  const connection = await NativeConnection.connect({ address: process.env.TEST_TEMPORAL_ADDRESS! });
  const workflowsPath = require.resolve('../../support/wedged-workflow');
  const worker = await Worker.create({ connection, namespace, taskQueue: 'wedged', workflowsPath });
  await worker.runUntil(async () => {
    const id = await applied(stack, 'jo@bloggs.example', { notify: false });
    await stack.client.workflow.start('checkoutWorkflow', {
      taskQueue: 'wedged',
      workflowId: checkoutWorkflowId(id),
      workflowIdConflictPolicy: 'TERMINATE_EXISTING',
      args: [id],
    });
    await until(async () => (await findOrder(stack.db, id))?.status === 'APPROVED', 'the lender has been asked');
  });
  await connection.close();
});
