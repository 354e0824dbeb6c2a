import { z } from 'zod';
import type { ZodOpenApiPathsObject } from 'zod-openapi';
import { listedOrderSchema, orderSchema } from '../order-schemas';
import { orderListQuerySchema, progressRequestSchema } from '../request-schemas';
import type { OrderRules } from '../fields';
import { createOrder } from './create-order-operation';
import { approvedOrder, cancelledOrder, order } from './examples';
import { HEADERS } from './headers';
import { PATH_IDS, inData, operation, page } from './operation';

const { supplier, order: orderIds } = PATH_IDS;
const RETRIEVED = { pending: { summary: 'The customer has started the signup', value: { data: order } } };
const CANCELLED = { cancelled: { summary: 'Cancelled', value: { data: cancelledOrder } } };

const listOrders = operation({
  operationId: 'listOrders',
  tag: 'Orders',
  summary: "List a seller's orders",
  description: 'The newest first, one page at a time, each as it was when it last changed.',
  key: 'seller',
  path: supplier,
  query: orderListQuerySchema,
  answer: {
    status: 200,
    description: 'One page',
    schema: page(listedOrderSchema, order.id),
    examples: {
      onePage: {
        summary: 'The last page',
        value: { data: [{ ...order, created_at: '2026-11-21T09:00:00.000Z' }], next_cursor: null },
      },
    },
  },
});

const retrieve = (operationId: string, path: z.ZodRawShape, scope: string) =>
  operation({
    operationId,
    tag: 'Orders',
    summary: `Retrieve an order${scope}`,
    description: 'The order as it is now. `Order-Source` says whether its workflow or the last snapshot answered.',
    key: 'seller',
    path,
    answer: {
      status: 200,
      description: 'The order',
      schema: inData(orderSchema),
      examples: RETRIEVED,
      headers: { 'Order-Source': HEADERS.orderSource },
    },
  });

const cancel = (operationId: string, path: z.ZodRawShape, scope: string) =>
  operation({
    operationId,
    tag: 'Orders',
    summary: `Cancel an order${scope}`,
    description:
      'The order becomes UNSUCCESSFUL and gets `cancelled_at`. Cancelling it again changes nothing and is answered ' +
      'alike; a SUCCESSFUL order is refused. A cancelled order can still be retrieved.',
    key: 'seller',
    path,
    answer: { status: 200, description: 'The cancelled order', schema: inData(orderSchema), examples: CANCELLED },
    errors: ['order_not_cancellable'],
  });

const checkConnection = operation({
  operationId: 'checkConnection',
  tag: 'Orders',
  summary: 'Check key and seller id',
  description: 'For the settings page of a plugin: 200 where the key is live and belongs to the seller.',
  key: 'seller',
  path: supplier,
  answer: {
    status: 200,
    description: 'Key and seller id fit',
    schema: inData(
      z.object({
        seller_id: z.uuid().meta({ description: 'Your id as a seller' }),
        seller_name: z.string().meta({ examples: ['My shop'] }),
      }),
    ),
    examples: {
      fits: {
        summary: 'They fit',
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
    'The checkout flow, with its own key, tells what the customer has come to: `signup_started` (CREATED to PENDING), ' +
    '`approved` (PENDING to APPROVED), `declined` (PENDING to UNSUCCESSFUL), `completed` (APPROVED to SUCCESSFUL), ' +
    '`failed` (any that is not final, to UNSUCCESSFUL). One that the order has had already changes nothing and is ' +
    'answered 200; any other is refused.',
  key: 'checkout',
  path: orderIds,
  body: {
    schema: progressRequestSchema,
    required: true,
    examples: {
      signupStarted: { summary: 'The signup has begun', value: { data: { event: 'signup_started' } } },
      failed: { summary: 'With a reason', value: { data: { event: 'failed', reason: 'Identity check failed' } } },
    },
  },
  answer: {
    status: 200,
    description: 'The order after it',
    schema: inData(orderSchema),
    examples: { approved: { summary: 'Approved', value: { data: approvedOrder } } },
  },
  errors: ['transition_not_allowed'],
});

const retrieveByPayLink = operation({
  operationId: 'retrieveOrderByPayLink',
  tag: 'Checkout',
  summary: 'Retrieve the order of a pay link',
  description:
    'For a checkout of your own: customers come to `<CHECKOUT_BASE_URL>/pay/<pay_link_id>/`, and progress is reported by ' +
    'the id of the order.',
  key: 'checkout',
  path: { pay_link_id: z.uuid().meta({ description: 'The `pay_link_id` of the order' }) },
  answer: {
    status: 200,
    description: 'The order',
    schema: inData(orderSchema),
    examples: RETRIEVED,
    headers: { 'Order-Source': HEADERS.orderSource },
  },
});

export function orderPaths(basePath: string, rules: OrderRules): ZodOpenApiPathsObject {
  const inSeller = { ...supplier, ...orderIds };
  return {
    [`${basePath}/seller/{supplier_uuid}/order/`]: { post: createOrder(rules), get: listOrders },
    [`${basePath}/order/{order_id}/`]: {
      get: retrieve('retrieveOrder', orderIds, ''),
      delete: cancel('cancelOrder', orderIds, ''),
    },
    [`${basePath}/seller/{supplier_uuid}/order/{order_id}/`]: {
      get: retrieve('retrieveSellerOrder', inSeller, ' of a seller'),
      delete: cancel('cancelSellerOrder', inSeller, ' of a seller'),
    },
    [`${basePath}/seller/{supplier_uuid}/connection_check/`]: { get: checkConnection },
    [`${basePath}/order/{order_id}/progress/`]: { post: reportProgress },
    [`${basePath}/pay_link/{pay_link_id}/`]: { get: retrieveByPayLink },
  };
}
