import { SANDBOX_MAILS } from '../../src/checkout/sandbox/sandbox-mail-routes';
import type { DemoAccess } from './demo';

/** The variables that `npm start` writes to `.data/demo.env`. */
type Addresses = DemoAccess &
  Record<'ORDERS_URL' | 'CHECKOUT_BASE_URL' | 'HOSTED_CHECKOUT' | 'DATABASE_URL' | 'METRICS_URL', string> &
  Record<'TEMPORAL_ADDRESS' | 'TEMPORAL_NAMESPACE' | 'TEMPORAL_UI_URL', string>;

/** The text that `npm start` prints when the service is up. */
export function announcement(
  addresses: Addresses,
  {
    dataDir,
    envFile,
    apiUrl,
    orderUrl,
    sellerUrl,
    shopUrl,
    live,
  }: Record<'dataDir' | 'envFile' | 'apiUrl' | 'orderUrl' | 'sellerUrl' | 'shopUrl', string> & {
    live: Record<'lender' | 'bank', object | undefined>;
  },
): string {
  return `
The order service is up.

  Shop          ${shopUrl}/
  Checkout      ${orderUrl}
  Seller        ${sellerUrl}
  Emails        ${addresses.ORDERS_URL}${SANDBOX_MAILS}/
  Docs          ${addresses.ORDERS_URL}/docs/
  API           ${addresses.ORDERS_URL}
  Temporal UI   ${addresses.TEMPORAL_UI_URL || 'not started'}
  Postgres      ${addresses.DATABASE_URL}
  Metrics       ${addresses.METRICS_URL}
  Keys          ${envFile}

Buy something in the shop, or open the checkout of a new order: docs/sellers/testing.md lists what to enter there.
No money moves and no email is sent, because both belong to a sandbox account: "Emails" lists what would be sent. The link to the
seller's page works once, for ten minutes. Live accounts: ${live.lender ? 'your lender' : 'no lender'}, ${live.bank ? 'your bank' : 'no bank'}.

As a seller's developer, follow docs/sellers/quickstart.md, or create an order, retrieve it, cancel it:

${curlCommands(addresses, apiUrl, dataDir).join('\n\n')}

Ctrl-C stops everything. Open orders resume at the next start.`;
}

/** Three commands that work when pasted in this order. */
function curlCommands({ SELLER_ID, SELLER_API_KEY }: Addresses, base: string, dataDir: string): string[] {
  const auth = `-H 'Authorization: Bearer ${SELLER_API_KEY}'`;
  const file = `'${dataDir}/order.json'`;
  const orderId = `$(sed 's/.*"id":"\\([^"]*\\).*/\\1/' ${file})`;
  return [
    `curl -s ${base}/seller/${SELLER_ID}/order/ ${auth} -H 'Content-Type: application/json' ` +
      `-d '{"data":{"amount":1234.50,"reference":"demo-'$(node -p 'crypto.randomUUID().slice(0, 8)')'"}}' | tee ${file}; echo`,
    `curl -s ${base}/order/${orderId}/ ${auth}; echo`,
    `curl -s -X DELETE ${base}/order/${orderId}/ ${auth}; echo`,
  ];
}
