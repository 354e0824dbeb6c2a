import { createdOrderSchema } from '../order-schemas';
import { createOrderRequestSchema, idempotencyKeySchema } from '../request-schemas';
import type { OrderRules } from '../fields';
import { createdOrder } from './examples';
import { HEADERS, sometimes } from './headers';
import { PATH_IDS, inData, operation } from './operation';

/** Where a new order can be passed on to. */
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
      'A shop creates an order and sends its customer to `order_url`. An order is never edited: a change of price is a ' +
      'new order, which may have the same reference once the first one is cancelled.\n\n' +
      '`null` for an optional field means that it was left out. Unknown fields are refused, with the name that was ' +
      'probably meant.\n\n' +
      'With an `Idempotency-Key` the call can be repeated safely: the same key and body get the first answer again. ' +
      'Without one, a repeat meets `duplicate_reference`, which tells where the first order is.',
    key: 'seller',
    path: PATH_IDS.supplier,
    headers: { 'Idempotency-Key': idempotencyKeySchema },
    body: {
      schema: createOrderRequestSchema(rules).meta({ id: 'CreateOrderRequest' }),
      required: true,
      examples: {
        smallest: {
          summary: 'The smallest, where the account has a default redirect address',
          value: { data: { amount: 1234.5, reference: 'web-100042' } },
        },
        everything: {
          summary: 'With everything',
          value: {
            data: {
              amount: 249.99,
              reference: 'web-100043',
              allowed_payment_terms: ['PAY_LATER'],
              webhook_url: 'https://shop.example/hooks',
              redirect_url: 'https://shop.example/thank-you?basket=17',
              source: 'woocommerce',
              meta_data: { basket: 'b-17' },
            },
          },
        },
      },
    },
    answer: {
      status: 201,
      description: 'The order, or the one that the first call with this Idempotency-Key made',
      schema: inData(createdOrderSchema),
      examples: { created: { summary: 'A new order', value: { data: createdOrder } } },
      headers: { Location: HEADERS.location, 'Idempotency-Replayed': sometimes(HEADERS.idempotencyReplayed) },
      links: CREATED_LINKS,
    },
    errors: ['invalid_idempotency_key', 'duplicate_reference', 'idempotency_key_in_progress', 'idempotency_key_reused'],
  });
}
