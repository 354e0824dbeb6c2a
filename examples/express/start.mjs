import { createClient } from 'order-service-client';
import { createShop } from './shop.mjs';

const { ORDERS_URL, SELLER_ID, SELLER_API_KEY, WEBHOOK_SECRET, PORT = 8080 } = process.env;
const { SHOP_URL = `http://127.0.0.1:${PORT}` } = process.env;

const orders = createClient({ baseUrl: ORDERS_URL, apiKey: SELLER_API_KEY, sellerId: SELLER_ID });
const shop = createShop({ orders, webhookSecret: WEBHOOK_SECRET, shopUrl: SHOP_URL });
shop.listen(PORT, '127.0.0.1', () => console.log(`The shop is at ${SHOP_URL}/`));
