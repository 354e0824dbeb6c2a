import { CSV_HEAD } from '../order-csv';
import type { CreatedOrderBody, OrderBody, RepaymentExampleBody } from '../order-schemas';
import type {
  TimelineEntryBody,
  SignedWebhookBody,
  WebhookEndpointBody,
  WebhookEventBody,
  WebhookSelectionBody,
  WebhookTestResult,
  WebhookTest,
} from '../webhook-schemas';

/** Examples of the document. All show the same order. */
export const createdOrder: CreatedOrderBody = {
  id: '3f0c8a52-6c1b-4d0e-9a57-0b6f2f1c7d34',
  amount: 1234.5,
  reference: 'web-100042',
  order_url: 'https://checkout.example/pay/9b2e6f10-58a7-4c3d-8e21-7d4a1b9c0f65/',
  status: 'CREATED',
  allowed_payment_terms: ['PAY_NOW', 'PAY_LATER'],
};

export const order: OrderBody = {
  id: createdOrder.id,
  amount: createdOrder.amount,
  reference: createdOrder.reference,
  redirect_url: `https://shop.example/thank-you?orderId=${createdOrder.id}`,
  cancel_url: `https://shop.example/cart?orderId=${createdOrder.id}`,
  webhook_url: 'https://shop.example/hooks',
  pricing: {
    representative_interest: 0,
    promotions: [{ name: 'Interest free', interest_free_days: 90, valid_until: '2027-01-31' }],
  },
  pay_link_id: '9b2e6f10-58a7-4c3d-8e21-7d4a1b9c0f65',
  seller_name: 'My shop',
  status: 'PENDING',
  allowed_payment_terms: createdOrder.allowed_payment_terms,
  order_url: createdOrder.order_url,
  created_at: '2026-11-21T09:00:00.000Z',
  updated_at: '2026-11-21T09:03:10.204Z',
  source: 'woocommerce',
  meta_data: { basket: 'b-17' },
};

export const cancelledOrder: OrderBody = {
  ...order,
  status: 'UNSUCCESSFUL',
  updated_at: '2026-11-21T09:12:30.512Z',
  cancelled_at: '2026-11-21T09:12:30.512Z',
  unsuccessful_reason: 'cancelled',
};

export const approvedOrder: OrderBody = { ...order, status: 'APPROVED', payment_term: 'PAY_LATER' };

export const ordersCsv =
  `${CSV_HEAD}${order.id},web-100042,SUCCESSFUL,1234.50,PAY_LATER,2026-11-21T09:00:00.000Z,` +
  '2026-11-21T09:06:02.117Z,,,PO-2026-11-1042,12.35,2026-11-23\r\n';

export const seller = { seller_id: 'c0a8012e-1d5f-4b7a-8f3e-6a2b9d4c5e70', seller_name: 'My shop' };

export const repaymentExample: RepaymentExampleBody = {
  amount: 1234.5,
  instalments: [1, 2, 3].map((month) => ({ due_in_months: month, amount: 411.5 })),
  total_amount: 1234.5,
  annual_interest: 0,
};

export const webhookEndpoint: WebhookEndpointBody = {
  origin: 'https://shop.example',
  state: 'failing',
  since: '2026-11-21T09:00:00.140Z',
  last_error: 'Your server answered 503.',
  next_probe_at: null,
};

export const webhookEvent: WebhookEventBody = {
  id: '7d0f3c1e-5b0e-8f6a-a1d3-2f6b7f0c9e11',
  type: 'order.status_changed',
  order_id: order.id,
  reference: order.reference,
  sequence: 1,
  state: 'exhausted',
  attempts: 10,
  created_at: '2026-11-21T09:00:00.000Z',
  next_attempt_at: null,
  last_error: 'Your server answered 503.',
  endpoint: webhookEndpoint,
  content_deleted_at: null,
};

export const signedWebhook: SignedWebhookBody = {
  ...webhookEvent,
  request_headers: {
    'content-type': 'application/json',
    accept: '*/*',
    'accept-encoding': 'identity',
    'user-agent': 'order-service-webhooks/1',
    'webhook-id': webhookEvent.id,
    'webhook-timestamp': '1795254000',
    'webhook-signature': 'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
  },
  request_body: JSON.stringify({
    type: 'order.status_changed',
    timestamp: '2026-11-21T09:00:00.000Z',
    data: { order, previous_status: 'CREATED', event: 'signup_started', sequence: 1, actor: 'checkout', reason: null },
  }),
};

export const webhookSelection: WebhookSelectionBody = {
  state: 'exhausted',
  order_id: null,
  created_from: null,
  created_before: '2026-11-22T09:00:00.000Z',
};

const attempt = {
  status: 503,
  error: 'http_status',
  error_detail: 'answered 503',
  address: '192.0.2.7',
  duration_ms: 84,
  connected_ms: 21,
  headers_ms: 83,
  response_body: 'busy',
  static_headers: false,
};

export const timeline: TimelineEntryBody[] = [
  {
    type: 'change',
    at: '2026-11-21T09:00:00.000Z',
    event: 'signup_started',
    from: 'CREATED',
    to: 'PENDING',
    actor: 'customer',
    channel: 'hosted_checkout',
    reason: null,
    payment_term: 'PAY_LATER',
    version: 2,
    webhook: {
      id: webhookEvent.id,
      sequence: 1,
      state: 'pending',
      next_attempt_at: '2026-11-21T09:00:05.212Z',
      last_error: 'Your server answered 503.',
      endpoint: webhookEndpoint,
      content_deleted_at: null,
    },
  },
  {
    type: 'webhook_attempt',
    at: '2026-11-21T09:00:00.140Z',
    webhook_id: webhookEvent.id,
    sequence: 1,
    attempt: 1,
    resend: false,
    origin: webhookEndpoint.origin,
    ...attempt,
    next_attempt_at: '2026-11-21T09:00:05.212Z',
  },
];

export const testWebhook: WebhookTest = { type: 'webhook.test', timestamp: '2026-11-21T09:00:00.000Z', data: seller };

export const webhookTestResult: WebhookTestResult = {
  webhook_id: '51b8b1a0-5d0a-4c3f-9d0f-5d8f3b6a7c22',
  delivered: false,
  ...attempt,
  request_body: JSON.stringify(testWebhook),
};
