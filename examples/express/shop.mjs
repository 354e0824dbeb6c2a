import { randomUUID } from 'node:crypto';
import express from 'express';
import { WebhookVerificationError, verifyWebhook } from 'order-service/client';

/**
 * A shop with one product that customers pay for through the order service.
 * @param orders the client of the order service
 * @param webhookSecret `whsec_…`
 * @param shopUrl the URL of this shop, for the customer's browser and for webhooks
 */
export function createShop({ orders, webhookSecret, shopUrl }) {
  const shop = express();
  /** The verified webhooks of each order. A real shop stores them in its database. */
  const webhooks = new Map();

  shop.get('/', (request, response) => {
    // A real shop creates the cart with its id, and stores both.
    response.send(`<title>Coffee shop</title><h1>Coffee machine</h1>
      <form method="post" action="/pay">
        <input type="hidden" name="cart" value="${randomUUID()}">
        <button>Pay £1,234.50</button>
      </form>`);
  });

  shop.post('/pay', express.urlencoded(), async (request, response) => {
    const { cart } = request.body;
    const { order_url } = await orders.create(
      {
        amount: 1234.5,
        reference: `cart-${cart}`,
        redirect_url: `${shopUrl}/return`,
        webhook_url: `${shopUrl}/webhook`,
      },
      // A second click, or a repeated call, gets the same order.
      { idempotencyKey: cart },
    );
    response.redirect(303, order_url);
  });

  shop.get('/return', async (request, response) => {
    // Anyone can open this page, so only the order's status proves the payment.
    const { id, status } = await orders.retrieve(request.query.orderId);
    const lines = (webhooks.get(id) ?? []).map(
      ({ data }) => `<li>webhook ${data.sequence}: ${data.previous_status} to ${data.order.status}</li>`,
    );
    response.send(`<title>Coffee shop</title><meta http-equiv="refresh" content="3">
      <h1>${status === 'SUCCESSFUL' ? 'Thank you for your order' : 'Your order is not complete'}</h1>
      <p>Order ${id} is ${status}.</p>
      <ul>${lines.join('')}</ul>`);
  });

  // The signature is that of the raw body.
  shop.post('/webhook', express.raw({ type: () => true }), (request, response) => {
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
    // Deliveries can repeat.
    if (received.some(({ id }) => id === webhook.id)) return;
    webhooks.set(order.id, [...received, webhook]);
    console.log(`webhook ${sequence}: order ${order.id} changed from ${previous_status} to ${order.status}`);
  }

  return shop;
}
