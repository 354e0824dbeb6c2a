import { createHash, randomBytes } from 'node:crypto';
import express from 'express';
import { WebhookVerificationError, verifyWebhook } from 'order-service-client';
import { messagePage, orderPage, productPage } from './pages.mjs';

const PRODUCT = { name: 'Coffee machine', amount: 1234.5 };

/**
 * The order number of a cart. Customers see it, also on their bank statement, where a reference has 18 characters. A real
 * shop counts its orders instead.
 */
const orderNumber = (cart) => `W-${createHash('sha256').update(cart).digest('hex').slice(0, 10).toUpperCase()}`;

/**
 * A shop with one product that customers pay for through the order service.
 * @param orders the client of the order service
 * @param webhookSecret `whsec_…`
 * @param shopUrl the URL of this shop, for the customer's browser and for webhooks
 */
export function createShop({ orders, webhookSecret, shopUrl }) {
  const shop = express();
  const webhookUrl = `${shopUrl}/webhook`;
  /** The verified webhooks of each order, by sequence. A real shop stores them in its database. */
  const webhooks = new Map();
  /** When the return page first showed an order as closed. */
  const closedAt = new Map();

  shop.get('/', (request, response) => {
    // A real shop creates the cart with its id, and stores both. The id is a secret: with it, /pay leads to the pay link.
    response.send(productPage({ ...PRODUCT, cart: randomBytes(16).toString('hex') }));
  });

  shop.post('/pay', express.urlencoded(), async (request, response) => {
    const cart = /^[0-9a-f]+$/.exec(request.body?.cart)?.[0];
    if (cart === undefined)
      response.status(400).send(messagePage('Your basket is empty', 'You have not been charged.'));
    else {
      response.cookie('cart', cart, { httpOnly: true, sameSite: 'lax', secure: shopUrl.startsWith('https:') });
      response.redirect(303, await checkOut(cart));
    }
  });

  /** Returns where the customer of a cart goes next. */
  async function checkOut(cart, attempt = 1) {
    const order = await createOrder(cart, attempt);
    if (order.status !== 'UNSUCCESSFUL') {
      const isPaid = order.status === 'SUCCESSFUL';
      if (order.amount === PRODUCT.amount) return isPaid ? `${shopUrl}/return?orderId=${order.id}` : order.order_url;
      // The price has changed. A paid order cannot be cancelled: this throws, and a person has to decide.
      await orders.cancel(order.id);
    }
    return checkOut(cart, attempt + 1);
  }

  /** Returns the order of this attempt, or the cart's existing one, which may be paid or for another amount. */
  async function createOrder(cart, attempt) {
    try {
      const created = await orders.create(
        {
          amount: PRODUCT.amount,
          reference: orderNumber(cart),
          redirect_url: `${shopUrl}/return`,
          cancel_url: `${shopUrl}/return`,
          webhook_url: webhookUrl,
        },
        // A second click, or a repeated call, gets the same order.
        { idempotencyKey: `cart-${cart}-${PRODUCT.amount}-${attempt}` },
      );
      return created.replayed ? await orders.retrieve(created.id) : created;
    } catch (error) {
      // The shop has changed what it sends since this attempt. The reference finds its order.
      if (error.code === 'idempotency_key_reused') return createOrder(cart, attempt + 1);
      if (error.code !== 'duplicate_reference') throw error;
      return orders.retrieve(error.orderId);
    }
  }

  shop.get('/return', async (request, response) => {
    // Anyone can open this page: only the order's status proves the payment, and only its customer sees the pay link.
    const order = await orders.retrieve(String(request.query.orderId)).catch((error) => {
      if (error.code !== 'not_found') throw error;
    });
    if (!order) {
      response.status(404).send(messagePage('Order not found', 'The link may be incomplete.'));
      return;
    }
    const cookies = request.get('Cookie')?.split('; ') ?? [];
    const isCustomer = cookies.some((one) => one.startsWith('cart=') && orderNumber(one.slice(5)) === order.reference);
    const isOurs = order.webhook_url === webhookUrl;
    const received = isOurs ? (webhooks.get(order.id) ?? []) : undefined;
    response.send(orderPage(order, isCustomer, received, mayChange(order)));
  });

  /** Whether to load the page again. A minute after the order was closed, a missing webhook is late or came before a restart. */
  function mayChange({ id, status }) {
    if (status !== 'SUCCESSFUL' && status !== 'UNSUCCESSFUL') return true;
    if (!closedAt.has(id)) closedAt.set(id, Date.now());
    return Date.now() - closedAt.get(id) < 60_000;
  }

  // The signature is that of the raw body.
  shop.post('/webhook', express.raw({ type: () => true, limit: '1mb' }), (request, response) => {
    try {
      const webhook = verifyWebhook(request.body ?? '', request.headers, webhookSecret);
      if (webhook.type === 'order.status_changed') store(webhook);
      response.sendStatus(204);
    } catch (error) {
      // With a malformed secret, the error causes a 500, and the webhook is sent again.
      if (!(error instanceof WebhookVerificationError)) throw error;
      response.sendStatus(400);
    }
  });

  function store(webhook) {
    const { order, previous_status, sequence } = webhook.data;
    const received = webhooks.get(order.id) ?? [];
    // Deliveries can repeat, and a resend can arrive after a newer webhook.
    if (received.some(({ id }) => id === webhook.id)) return;
    webhooks.set(
      order.id,
      [...received, webhook].sort((one, other) => one.data.sequence - other.data.sequence),
    );
    console.log(`webhook ${sequence}: order ${order.id} changed from ${previous_status} to ${order.status}`);
  }

  shop.use((error, request, response, next) => {
    if (response.headersSent) return next(error);
    console.error(error);
    // The customer may have paid: the shop does not know.
    const text = 'If you have paid, do not pay again: we have your order. Otherwise, try again in a minute.';
    response.status(500).send(messagePage('Something went wrong on our side', text));
  });

  return shop;
}
