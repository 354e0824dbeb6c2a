import { z } from 'zod';
import type { ZodOpenApiPathsObject } from 'zod-openapi';
import type { OrderRules } from '../fields';
import { orderSchema, sellerSchema } from '../order-schemas';
import { repaymentExampleQuerySchema, repaymentExampleSchema } from '../repayment-schemas';
import { orderListQuerySchema, progressRequestSchema, simulateRequestSchema } from '../request-schemas';
import { createOrder } from './create-order-operation';
import { approvedOrder, cancelledOrder, order, repaymentExample } from './examples';
import { HEADERS } from './headers';
import { PATH_IDS, inData, operation, page, requestBody } from './operation';

const { seller, order: orderIds } = PATH_IDS;
const RETRIEVED = { pending: { summary: 'The customer has started the signup', value: { data: order } } };
const RETURNS_ORDER = {
  response: {
    status: 200,
    description: 'The order',
    schema: inData(orderSchema),
    examples: RETRIEVED,
    headers: { 'Order-Source': HEADERS.orderSource },
  },
  conditional: 'get',
} as const;
/** Starts the description of an operation with the seller in its path. */
const SAME = 'Same as `/order/{order_id}/`. ';
const CANCELLED = { cancelled: { summary: 'A cancelled order', value: { data: cancelledOrder } } };

const listOrders = operation({
  operationId: 'listOrders',
  tag: 'Orders',
  summary: "List a seller's orders",
  description:
    'Lists orders as of their last saved change, newest first: by `created_at`, or by last change with `updated_from`.',
  key: 'seller',
  path: seller,
  query: orderListQuerySchema,
  response: {
    status: 200,
    description: 'One page of orders',
    schema: page('OrderListResponse', orderSchema, order.id),
    examples: {
      onePage: {
        summary: 'The last page',
        value: { data: [{ ...order, created_at: '2026-11-21T09:00:00.000Z' }], next_cursor: null },
      },
    },
  },
});

const retrieve = (operationId: string, path: z.ZodRawShape, scope = '', note = '') =>
  operation({
    operationId,
    tag: 'Orders',
    summary: `Retrieve an order${scope}`,
    description:
      note +
      'Returns the current state of an order. `Order-Source` shows whether it comes from the workflow or from the ' +
      'last saved snapshot.',
    key: 'seller',
    path,
    ...RETURNS_ORDER,
  });

const cancel = (operationId: string, path: z.ZodRawShape, scope = '', note = '') =>
  operation({
    operationId,
    tag: 'Orders',
    summary: `Cancel an order${scope}`,
    description:
      note +
      'The order becomes UNSUCCESSFUL and gets a `cancelled_at`. If the order was declined, failed or expired, only ' +
      '`cancelled_at` is set. Cancelling again changes nothing. A SUCCESSFUL order cannot be cancelled. A cancelled ' +
      'order can still be retrieved.',
    key: 'seller',
    path,
    response: { status: 200, description: 'The cancelled order', schema: inData(orderSchema), examples: CANCELLED },
    conditional: 'change',
    errors: ['order_not_cancellable'],
  });

const checkConnection = operation({
  operationId: 'checkConnection',
  tag: 'Orders',
  summary: 'Check an API key and seller ID',
  description: 'Returns 200 if the key is valid and belongs to the seller. Useful on the settings page of a plugin.',
  key: 'seller',
  path: seller,
  response: {
    status: 200,
    description: 'The key is valid and belongs to the seller',
    schema: inData(sellerSchema),
    examples: {
      validKey: {
        summary: 'A valid key',
        value: { data: { seller_id: 'c0a8012e-1d5f-4b7a-8f3e-6a2b9d4c5e70', seller_name: 'My shop' } },
      },
    },
  },
});

const reportProgress = operation({
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
  path: orderIds,
  body: {
    schema: requestBody('ReportProgressRequest', progressRequestSchema),
    required: true,
    examples: {
      signupStarted: { summary: 'The customer has started the signup', value: { data: { event: 'signup_started' } } },
      failed: {
        summary: 'An event with a reason',
        value: { data: { event: 'failed', reason: 'Identity check failed' } },
      },
    },
  },
  response: {
    status: 200,
    description: 'The order after the event',
    schema: inData(orderSchema),
    examples: { approved: { summary: 'An approved order', value: { data: approvedOrder } } },
  },
  conditional: 'change',
  errors: ['transition_not_allowed'],
});

const simulate = operation({
  operationId: 'simulateProgress',
  tag: 'Orders',
  summary: "Simulate the customer's progress",
  description:
    'Sandbox accounts only: moves an order as `reportProgress` does, so that automated tests of a shop need no browser. ' +
    'Events in the order of a paid order: `signup_started`, `approved`, `completed`. The webhooks are those of a real ' +
    'customer, with two exceptions: their actor is `checkout`, and `declined` and `failed` end the order immediately. On ' +
    'the hosted checkout, a customer can usually continue after a decline or a failure: the order stays PENDING, ' +
    'without a webhook, until the customer cancels the application, you cancel the order, or it expires. `expired` ends ' +
    'the order as its expiry does. With a live account, `sandbox_only` is returned.',
  key: 'seller',
  path: orderIds,
  body: {
    schema: requestBody('SimulateProgressRequest', simulateRequestSchema),
    required: true,
    examples: {
      signupStarted: { summary: 'The customer starts the signup', value: { data: { event: 'signup_started' } } },
      expired: { summary: 'The order expires', value: { data: { event: 'expired' } } },
    },
  },
  response: {
    status: 200,
    description: 'The order after the event',
    schema: inData(orderSchema),
    examples: { approved: { summary: 'An approved order', value: { data: { ...approvedOrder, sandbox: true } } } },
  },
  conditional: 'change',
  errors: ['transition_not_allowed', 'sandbox_only'],
});

const retrieveByPayLink = operation({
  operationId: 'retrieveOrderByPayLink',
  tag: 'Checkout',
  summary: 'Retrieve the order of a pay link',
  description:
    'For a custom checkout. Customers open `<CHECKOUT_BASE_URL>/pay/<pay_link_id>/`; the order returned here has the ' +
    'ID that `reportProgress` requires.',
  key: 'checkout',
  path: { pay_link_id: z.uuid().meta({ description: 'The `pay_link_id` of the order' }) },
  ...RETURNS_ORDER,
});

function retrieveRepaymentExample(rules: OrderRules) {
  return operation({
    operationId: 'retrieveRepaymentExample',
    tag: 'Orders',
    summary: 'Retrieve an example of repayments',
    description:
      'The repayments of an amount, before any order exists, for product and cart pages. Public: browsers call it ' +
      'without a key, from any origin, and responses may be cached for five minutes. The lender decides on the ' +
      'repayments of an order when its customer applies. Without a lender that serves the account, 404.',
    path: seller,
    query: repaymentExampleQuerySchema(rules),
    response: {
      status: 200,
      description: 'The repayments',
      schema: inData(repaymentExampleSchema),
      headers: {
        'Cache-Control': z
          .string()
          .meta({ description: 'How long the response may be cached', examples: ['public, max-age=300'] }),
        'Access-Control-Allow-Origin': z
          .literal('*')
          .meta({ description: 'Pages of any origin may read the response' }),
      },
      examples: { interestFree: { summary: 'Three instalments without interest', value: { data: repaymentExample } } },
    },
  });
}

export function orderPaths(basePath: string, rules: OrderRules): ZodOpenApiPathsObject {
  const inSeller = { ...seller, ...orderIds };
  return {
    [`${basePath}/seller/{supplier_uuid}/order/`]: { post: createOrder(rules), get: listOrders },
    [`${basePath}/order/{order_id}/`]: {
      get: retrieve('retrieveOrder', orderIds),
      delete: cancel('cancelOrder', orderIds),
    },
    [`${basePath}/seller/{supplier_uuid}/order/{order_id}/`]: {
      get: retrieve('retrieveSellerOrder', inSeller, ' of a seller', SAME),
      delete: cancel('cancelSellerOrder', inSeller, ' of a seller', SAME),
    },
    [`${basePath}/seller/{supplier_uuid}/connection_check/`]: { get: checkConnection },
    [`${basePath}/seller/{supplier_uuid}/repayment_example/`]: { get: retrieveRepaymentExample(rules) },
    [`${basePath}/order/{order_id}/progress/`]: { post: reportProgress },
    [`${basePath}/order/{order_id}/simulate/`]: { post: simulate },
    [`${basePath}/pay_link/{pay_link_id}/`]: { get: retrieveByPayLink },
  };
}
