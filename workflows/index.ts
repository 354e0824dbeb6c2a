export { orderWorkflow } from './order-workflow';
export { webhookTestWorkflow } from './webhook-test-workflow';
