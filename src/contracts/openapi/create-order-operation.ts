import type { OrderRules } from '../fields';
import { createdOrderSchema } from '../order-schemas';
import { createOrderRequestSchema, idempotencyKeySchema } from '../request-schemas';
import { createdOrder } from './examples';
import { HEADERS, sometimes } from './headers';
import { PATH_IDS, inData, operation, requestBody } from './operation';

/** Operations that take the ID of the new order. */
const ORDER_ID = { order_id: '$response.body#/data/id' };
const CREATED_LINKS = {
  retrieveOrder: { operationId: 'retrieveOrder', parameters: ORDER_ID },
  cancelOrder: { operationId: 'cancelOrder', parameters: ORDER_ID },
  retrieveTimeline: { operationId: 'retrieveTimeline', parameters: ORDER_ID },
  reportProgress: { operationId: 'reportProgress', parameters: ORDER_ID },
};

export function createOrder(rules: OrderRules) {
  return operation({
    operationId: 'createOrder',
    tag: 'Orders',
    summary: 'Create an order',
    description:
      'Creates an order. Send the customer to its `order_url`. Orders cannot be edited: to change the amount, cancel ' +
      'the order and create a new one, which can have the same reference.\n\n' +
      '`null` is the same as an omitted optional field. A request with an unknown field fails, and the error suggests ' +
      'the closest known name.\n\n' +
      'With an `Idempotency-Key`, the request is safe to repeat: the same key and body return the first response ' +
      'again. Without a key, a repeated request fails with `duplicate_reference`, and the error contains the ID and ' +
      'URL of the first order.',
    key: 'seller',
    path: PATH_IDS.seller,
    headers: { 'Idempotency-Key': idempotencyKeySchema },
    body: {
      schema: requestBody('CreateOrderRequest', createOrderRequestSchema(rules)),
      required: true,
      examples: {
        requiredFields: {
          summary: 'Required fields only, for an account with a default redirect URL',
          value: { data: { amount: 1234.5, reference: 'web-100042' } },
        },
        allFields: {
          summary: 'All fields',
          value: {
            data: {
              amount: 249.99,
              reference: 'web-100043',
              allowed_payment_terms: ['PAY_LATER'],
              webhook_url: 'https://shop.example/hooks',
              redirect_url: 'https://shop.example/thank-you?basket=17',
              cancel_url: 'https://shop.example/cart',
              source: 'woocommerce',
              meta_data: { basket: 'b-17' },
            },
          },
        },
      },
    },
    response: {
      status: 201,
      description: 'The new order, or the order from the first request with this Idempotency-Key',
      schema: inData(createdOrderSchema),
      examples: { created: { summary: 'A new order', value: { data: createdOrder } } },
      headers: { Location: HEADERS.location, 'Idempotency-Replayed': sometimes(HEADERS.idempotencyReplayed) },
      links: CREATED_LINKS,
    },
    errors: [
      'invalid_idempotency_key',
      'duplicate_reference',
      'idempotency_key_in_progress',
      'idempotency_key_reused',
      'checkout_not_ready',
      'overloaded',
    ],
  });
}
