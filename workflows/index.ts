export { orderWorkflow } from './order-workflow';
export { resendWebhooksWorkflow } from './resend-webhooks-workflow';
