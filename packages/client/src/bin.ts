#!/usr/bin/env node
import { parseArgs } from 'node:util';
import { createClient } from './client';
import { listen } from './listen';

const USAGE = `Usage: order-service listen --forward-to <url>

Forwards the webhooks of your sandbox account to a URL that the service cannot reach, such as http://localhost:8080/webhook.
The environment variables ORDERS_URL, SELLER_ID and SELLER_API_KEY (sk_test_…) name the service and the account.`;

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { 'forward-to': { type: 'string' }, help: { type: 'boolean' } },
  });
  const forwardTo = values['forward-to'];
  if (values.help) {
    console.log(USAGE);
    return;
  }
  if (positionals.join() !== 'listen' || forwardTo === undefined) throw new Error(USAGE);
  if (!/^https?:\/\//.test(forwardTo) || !URL.canParse(forwardTo))
    throw new Error(`--forward-to must be a URL that starts with http:// or https://: ${forwardTo}`);
  const { ORDERS_URL = '', SELLER_ID = '', SELLER_API_KEY = '' } = process.env;
  for (const [name, value] of Object.entries({ ORDERS_URL, SELLER_ID, SELLER_API_KEY }))
    if (value === '') throw new Error(`${name} is not set, or not exported: export it.`);
  if (!SELLER_API_KEY.startsWith('sk_test_'))
    throw new Error('SELLER_API_KEY is not the key of a sandbox account (sk_test_…).');
  const orders = createClient({ baseUrl: ORDERS_URL, sellerId: SELLER_ID, apiKey: SELLER_API_KEY });
  const stopped = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stopped.abort());
  await listen({ orders, forwardTo, print: console.log, signal: stopped.signal });
}

main().catch((error: unknown) => {
  console.error((error as Error).message);
  process.exitCode = 1;
});
