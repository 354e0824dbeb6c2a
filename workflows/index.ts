export { orderWorkflow } from './order';
export { webhookTestWorkflow } from './webhook-test';
