import { z } from 'zod';
import type { OrderRules } from '../fields';
import { CSV_HEAD } from '../order-csv';
import { createdOrderSchema, orderSchema, repaymentExampleSchema, sellerSchema } from '../order-schemas';
import {
  createOrderRequestSchema,
  idempotencyKeySchema,
  orderListQuerySchema,
  progressRequestSchema,
  repaymentExampleQuerySchema,
  simulateRequestSchema,
} from '../request-schemas';
import { HEADERS, pick, sometimes, type Operation } from './operation';

/** A link to an operation that takes the ID of the new order. */
const ofNewOrder = (operationId: string) => ({ operationId, parameters: { order_id: '$response.body#/data/id' } });

const retrieve = {
  description:
    'Returns the current state of an order. `Order-Source` shows whether it comes from the workflow or from the ' +
    'last saved snapshot.',
  response: {
    description: 'The order',
    data: orderSchema,
    headers: pick('Order-Source'),
  },
  conditional: 'get',
} as const satisfies Partial<Operation>;

const cancel = {
  description:
    'The order becomes UNSUCCESSFUL and gets a `cancelled_at`. If the order was declined, failed or expired, only ' +
    '`cancelled_at` is set. Cancelling again changes nothing. A SUCCESSFUL order cannot be cancelled. A cancelled ' +
    'order can still be retrieved.',
  response: {
    description: 'The cancelled order',
    data: orderSchema,
    example: { status: 'UNSUCCESSFUL', cancelled_at: '2026-11-21T09:12:30.512Z', unsuccessful_reason: 'cancelled' },
  },
  conditional: 'change',
  errors: ['order_not_cancellable'],
} as const satisfies Partial<Operation>;

/** Starts the description of an operation with the seller in its path. */
const SAME = 'Same as `/order/{order_id}/`. ';

export const orderOperations = (rules: OrderRules): Operation[] => [
  {
    route: 'POST /seller/{supplier_uuid}/order/',
    operationId: 'createOrder',
    summary: 'Create an order',
    description:
      'Creates an order. Send the customer to its `order_url`. Orders cannot be edited: to change the amount, cancel ' +
      'the order and create a new one, which can have the same reference.\n\n' +
      '`null` is the same as an omitted optional field. A request with an unknown field fails, and the error suggests ' +
      'the closest known name.\n\n' +
      'With an `Idempotency-Key`, the request is safe to repeat: the same key and body return the first response ' +
      'again, for as long as the order exists. Without a key, a repeated request fails with `duplicate_reference`, and ' +
      'the error contains the ID and URL of the first order.',
    headers: { 'Idempotency-Key': idempotencyKeySchema },
    body: {
      schema: createOrderRequestSchema(rules),
      examples: {
        requiredFields: [
          'Required fields only, for an account with a default redirect URL',
          { amount: 1234.5, reference: 'web-100042' },
        ],
        allFields: [
          'All fields',
          {
            amount: 249.99,
            reference: 'web-100043',
            allowed_payment_terms: ['PAY_LATER'],
            webhook_url: 'https://shop.example/hooks',
            redirect_url: 'https://shop.example/thank-you?basket=17',
            cancel_url: 'https://shop.example/cart',
            source: 'woocommerce',
            meta_data: { basket: 'b-17' },
          },
        ],
      },
    },
    response: {
      status: 201,
      description: 'The new order, or the order from the first request with this Idempotency-Key',
      data: createdOrderSchema,
      headers: { ...pick('Location'), 'Idempotency-Replayed': sometimes(HEADERS['Idempotency-Replayed']) },
      links: {
        retrieveOrder: ofNewOrder('retrieveOrder'),
        cancelOrder: ofNewOrder('cancelOrder'),
        retrieveTimeline: ofNewOrder('retrieveTimeline'),
        reportProgress: ofNewOrder('reportProgress'),
      },
    },
    errors: [
      'invalid_idempotency_key',
      'duplicate_reference',
      'idempotency_key_in_progress',
      'idempotency_key_reused',
      'checkout_not_ready',
      'quota_exceeded',
      'overloaded',
    ],
  },
  {
    route: 'GET /seller/{supplier_uuid}/order/',
    operationId: 'listOrders',
    summary: "List a seller's orders",
    description:
      'Lists orders as of their last saved change, newest first: by last change with `updated_from` or `updated_before`, ' +
      'by completion with `completed_from` or `completed_before`, otherwise by `created_at`.\n\n' +
      'With `Accept: text/csv`, all matching orders are returned as CSV (RFC 4180), whatever `limit` is: a header line, then ' +
      "one line for each order, as they are read. A cell that a spreadsheet would take for a formula starts with `'`. " +
      'The response is chunked. If it breaks off, its last chunk is missing, which your HTTP client reports as an error: ' +
      'repeat the request, or pass the ID of the last complete line as `cursor`.',
    query: orderListQuerySchema,
    response: {
      description: 'One page of orders',
      data: orderSchema,
      isList: true,
      csv:
        `${CSV_HEAD}3f0c8a52-6c1b-4d0e-9a57-0b6f2f1c7d34,web-100042,SUCCESSFUL,1234.50,PAY_LATER,2026-11-21T09:00:00.000Z,` +
        '2026-11-21T09:06:02.117Z,,,PO-2026-11-1042,12.35,2026-11-23\r\n',
      headers: {
        'Content-Disposition': z
          .string()
          .optional()
          .meta({ description: 'The file name of a CSV', examples: ['attachment; filename="orders.csv"'] }),
      },
    },
  },
  { route: 'GET /order/{order_id}/', operationId: 'retrieveOrder', summary: 'Retrieve an order', ...retrieve },
  { route: 'DELETE /order/{order_id}/', operationId: 'cancelOrder', summary: 'Cancel an order', ...cancel },
  {
    ...retrieve,
    route: 'GET /seller/{supplier_uuid}/order/{order_id}/',
    operationId: 'retrieveSellerOrder',
    summary: 'Retrieve an order of a seller',
    description: SAME + retrieve.description,
  },
  {
    ...cancel,
    route: 'DELETE /seller/{supplier_uuid}/order/{order_id}/',
    operationId: 'cancelSellerOrder',
    summary: 'Cancel an order of a seller',
    description: SAME + cancel.description,
  },
  {
    route: 'GET /seller/{supplier_uuid}/connection_check/',
    operationId: 'checkConnection',
    summary: 'Check an API key and seller ID',
    description: 'Returns 200 if the key is valid and belongs to the seller. Useful on the settings page of a plugin.',
    response: {
      description: 'The key is valid and belongs to the seller',
      data: sellerSchema,
    },
  },
  {
    route: 'GET /seller/{supplier_uuid}/repayment_example/',
    operationId: 'retrieveRepaymentExample',
    summary: 'Retrieve an example of repayments',
    description:
      'The repayments of an amount, before any order exists, for product and cart pages. Public: browsers call it ' +
      'without a key, from any origin, and responses may be cached for five minutes. The lender decides on the ' +
      'repayments of an order when its customer applies. Without a lender that serves the account, 404.',
    key: 'none',
    query: repaymentExampleQuerySchema(rules),
    response: {
      description: 'The repayments',
      data: repaymentExampleSchema,
      headers: {
        'Cache-Control': z
          .string()
          .meta({ description: 'How long the response may be cached', examples: ['public, max-age=300'] }),
        'Access-Control-Allow-Origin': z
          .literal('*')
          .meta({ description: 'Pages of any origin may read the response' }),
      },
    },
  },
  {
    route: 'POST /order/{order_id}/progress/',
    operationId: 'reportProgress',
    tag: 'Checkout',
    summary: "Report the customer's progress",
    description:
      'Each event changes the status: `signup_started` from CREATED to PENDING, `approved` from PENDING to APPROVED, ' +
      '`declined` from PENDING to UNSUCCESSFUL, `completed` from APPROVED to SUCCESSFUL, `failed` from CREATED, ' +
      'PENDING or APPROVED to UNSUCCESSFUL. If the event was already reported for the order, nothing changes and the ' +
      'response is 200. An event that the current status does not allow returns `transition_not_allowed`; an unknown ' +
      'event returns `invalid_request`.',
    key: 'checkout',
    body: {
      schema: progressRequestSchema,
      examples: {
        signupStarted: ['The customer has started the signup', { event: 'signup_started' }],
        failed: ['An event with a reason', { event: 'failed', reason: 'Identity check failed' }],
      },
    },
    response: {
      description: 'The order after the event',
      data: orderSchema,
      example: { status: 'APPROVED', payment_term: 'PAY_LATER' },
    },
    conditional: 'change',
    errors: ['transition_not_allowed'],
  },
  {
    route: 'POST /order/{order_id}/simulate/',
    operationId: 'simulateProgress',
    summary: "Simulate the customer's progress",
    description:
      'Sandbox accounts only: moves an order as `reportProgress` does, so that automated tests of a shop need no browser. ' +
      'Events in the order of a paid order: `signup_started`, `approved`, `completed`. The webhooks are those of a real ' +
      'customer, with two exceptions: their actor is `checkout`, and `declined` and `failed` end the order immediately. On ' +
      'the hosted checkout, a customer can usually continue after a decline or a failure: the order stays PENDING, ' +
      'without a webhook, until the customer cancels the application, you cancel the order, or it expires. `expired` ends ' +
      'the order as its expiry does. With a live account, `sandbox_only` is returned.',
    body: {
      schema: simulateRequestSchema,
      examples: {
        signupStarted: ['The customer starts the signup', { event: 'signup_started' }],
        expired: ['The order expires', { event: 'expired' }],
      },
    },
    response: {
      description: 'The order after the event',
      data: orderSchema,
      example: { status: 'APPROVED', payment_term: 'PAY_LATER' },
    },
    conditional: 'change',
    errors: ['transition_not_allowed', 'sandbox_only'],
  },
  {
    ...retrieve,
    route: 'GET /pay_link/{pay_link_id}/',
    operationId: 'retrieveOrderByPayLink',
    tag: 'Checkout',
    summary: 'Retrieve the order of a pay link',
    description:
      'For a custom checkout. Customers open `<CHECKOUT_BASE_URL>/pay/<pay_link_id>/`; the order returned here has the ' +
      'ID that `reportProgress` requires.',
    key: 'checkout',
  },
];
