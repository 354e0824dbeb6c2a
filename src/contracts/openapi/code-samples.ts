/**
 * Samples of each call in curl, TypeScript, PHP and Python (`x-codeSamples`, which documentation pages show). They read
 * the caller's values from the environment, and create a new reference each time, so that they can be run again.
 */

interface CodeSample {
  lang: string;
  label: string;
  source: string;
}

interface Call {
  operationId: string;
  method: string;
  /** With parameters in braces. */
  path: string;
  key: 'SELLER_API_KEY' | 'CHECKOUT_API_KEY';
  /** The `data` of the request body. */
  data: Record<string, unknown> | undefined;
  /** Sends an Idempotency-Key. */
  isKeyed: boolean;
}

const ABOUT_KEY = 'Store it with the cart, and repeat the call with the same key.';

/** In a text of `data`: a unique text of the language. */
const UNIQUE = '{unique}';

const VARIABLES: Record<string, string> = {
  supplier_uuid: 'SELLER_ID',
  order_id: 'ORDER_ID',
  webhook_id: 'WEBHOOK_ID',
  pay_link_id: 'PAY_LINK_ID',
};

/** The request bodies of the samples. */
const DATA: Record<string, Record<string, unknown>> = {
  createOrder: {
    amount: 1234.5,
    reference: `web-${UNIQUE}`,
    redirect_url: 'https://shop.example/thank-you',
    webhook_url: 'https://shop.example/hooks',
  },
  reportProgress: { event: 'signup_started' },
  simulateProgress: { event: 'signup_started' },
  testEndpoint: { url: 'https://shop.example/hooks' },
  rotateWebhookSecret: { overlap_seconds: 86_400 },
};

/** The samples of calls that the client has a method for. */
const CLIENT_CALLS: Record<string, string> = {
  createOrder: `const idempotencyKey = crypto.randomUUID(); // ${ABOUT_KEY}
const order = await orders.create({
  amount: 1234.5,
  reference: \`web-\${crypto.randomUUID()}\`,
  redirect_url: 'https://shop.example/thank-you',
  webhook_url: 'https://shop.example/hooks',
}, { idempotencyKey });
console.log(order.order_url);`,
  listOrders: `for await (const order of orders.listAll({ status: 'PENDING' })) console.log(order.reference);`,
  retrieveOrder: `console.log((await orders.retrieve(env.ORDER_ID!)).status);`,
  cancelOrder: `console.log((await orders.cancel(env.ORDER_ID!)).cancelled_at);`,
  simulateProgress: `console.log((await orders.simulate(env.ORDER_ID!, 'signup_started')).status);`,
  checkConnection: `console.log((await orders.checkConnection()).seller_name);`,
  retrieveTimeline: `console.log((await orders.timeline(env.ORDER_ID!)).data);`,
  listWebhooks: `console.log((await orders.listWebhooks({ state: 'exhausted' })).data);`,
  retrieveWebhook: `console.log((await orders.retrieveWebhook(env.WEBHOOK_ID!)).request_body);`,
  resendWebhook: `console.log((await orders.resendWebhook(env.WEBHOOK_ID!)).state);`,
  testEndpoint: `console.log((await orders.testWebhook('https://shop.example/hooks')).delivered);`,
  rotateWebhookSecret: `console.log((await orders.rotateWebhookSecret()).webhook_secret);`,
};
CLIENT_CALLS.retrieveSellerOrder = CLIENT_CALLS.retrieveOrder as string;
CLIENT_CALLS.cancelSellerOrder = CLIENT_CALLS.cancelOrder as string;

/** @param paths of the OpenAPI document, whose operations get samples if they need a key */
export function addCodeSamples(paths: object): void {
  for (const [path, item] of Object.entries(paths) as [string, Record<string, Operation>][]) {
    for (const [method, operation] of Object.entries(item)) {
      const [requirement = {}] = operation.security ?? [];
      if (Object.keys(requirement).length === 0) continue;
      const { operationId } = operation;
      const key = 'sellerKey' in requirement ? 'SELLER_API_KEY' : 'CHECKOUT_API_KEY';
      const isKeyed = operationId === 'createOrder';
      const call = { operationId, method: method.toUpperCase(), path, key, data: DATA[operationId], isKeyed } as const;
      operation['x-codeSamples'] = [curl(call), typescript(call), php(call), python(call)];
    }
  }
}

interface Operation {
  operationId: string;
  security?: Record<string, unknown>[];
  'x-codeSamples'?: CodeSample[];
}

function fill(path: string, toVariable: (name: string) => string): string {
  return path.replace(/\{(\w+)\}/g, (_match, parameter: string) => toVariable(VARIABLES[parameter] ?? parameter));
}

function curl({ method, path, key, data, isKeyed }: Call): CodeSample {
  const json = JSON.stringify({ data }).replace(UNIQUE, "'$(openssl rand -hex 6)'");
  const options = [
    ...(method === 'GET' || (method === 'POST' && data) ? [] : [`-X ${method}`]),
    `-H "Authorization: Bearer $${key}"`,
    ...(isKeyed ? ['-H "Idempotency-Key: $KEY"'] : []),
    ...(data ? ["-H 'Content-Type: application/json'", `-d '${json}'`] : []),
  ];
  const url = `"$ORDERS_URL${fill(path, (name) => `$${name}`)}"`;
  const setKey = isKeyed ? `KEY=$(openssl rand -hex 16) # ${ABOUT_KEY}\n` : '';
  return { lang: 'Shell', label: 'curl', source: setKey + [`curl ${url}`, ...options].join(' \\\n  ') };
}

function typescript({ operationId, method, path, key, data }: Call): CodeSample {
  const own = CLIENT_CALLS[operationId];
  const url = fill(path, (name) => `\${env.${name}}`);
  const source =
    own === undefined
      ? `import { env } from 'node:process';

const response = await fetch(\`\${env.ORDERS_URL}${url}\`, {
  method: '${method}',
  headers: { Authorization: \`Bearer \${env.${key}}\`, 'Content-Type': 'application/json' },${
    data ? `\n  body: JSON.stringify({ data: ${literal(data, TYPESCRIPT)} }),` : ''
  }
});
console.log(await response.json());`
      : `import { env } from 'node:process';
import { createClient } from 'order-service/client';

const orders = createClient({
  baseUrl: env.ORDERS_URL!,
  sellerId: env.SELLER_ID!,
  apiKey: env.SELLER_API_KEY!,
});
${own}`;
  return { lang: 'TypeScript', label: 'TypeScript', source };
}

function php({ method, path, key, data, isKeyed }: Call): CodeSample {
  const url = fill(path, (name) => `' . getenv('${name}') . '`);
  const headers = [
    `'Authorization: Bearer ' . getenv('${key}')`,
    `'Content-Type: application/json'`,
    ...(isKeyed ? ['"Idempotency-Key: $key"'] : []),
  ];
  const lines = [
    `CURLOPT_CUSTOMREQUEST => '${method}',`,
    `CURLOPT_HTTPHEADER => [${headers.join(', ')}],`,
    ...(data ? [`CURLOPT_POSTFIELDS => json_encode(['data' => ${literal(data, PHP)}]),`] : []),
    'CURLOPT_RETURNTRANSFER => true,',
  ];
  const source = `<?php
${isKeyed ? `$key = bin2hex(random_bytes(16)); // ${ABOUT_KEY}\n` : ''}$curl = curl_init(getenv('ORDERS_URL') . '${url}');
curl_setopt_array($curl, [
${lines.map((line) => `    ${line}`).join('\n')}
]);
echo curl_exec($curl);`;
  return { lang: 'PHP', label: 'PHP', source };
}

function python({ method, path, key, data, isKeyed }: Call): CodeSample {
  const url = fill(path, (name) => `{os.environ['${name}']}`);
  const source = `import json, os, uuid
from urllib.request import Request, urlopen

${isKeyed ? `key = str(uuid.uuid4())  # ${ABOUT_KEY}\n` : ''}request = Request(
    f"{os.environ['ORDERS_URL']}${url}",
    method="${method}",
    headers={
        "Authorization": f"Bearer {os.environ['${key}']}",
        "Content-Type": "application/json",${isKeyed ? '\n        "Idempotency-Key": key,' : ''}
    },${data ? `\n    data=json.dumps({"data": ${literal(data, PYTHON)}}).encode(),` : ''}
)
print(json.load(urlopen(request)))`;
  return { lang: 'Python', label: 'Python', source };
}

interface Syntax {
  brackets: [string, string];
  entry: (name: string, value: string) => string;
  quote: string;
  /** An expression for a text that ends with a unique part. */
  unique: (start: string) => string;
}

const TYPESCRIPT: Syntax = {
  brackets: ['{ ', ' }'],
  entry: (name, value) => `${name}: ${value}`,
  quote: "'",
  unique: (start) => `\`${start}\${crypto.randomUUID()}\``,
};
const PHP: Syntax = {
  brackets: ['[', ']'],
  entry: (name, value) => `'${name}' => ${value}`,
  quote: "'",
  unique: (start) => `'${start}' . bin2hex(random_bytes(6))`,
};
const PYTHON: Syntax = {
  brackets: ['{', '}'],
  entry: (name, value) => `"${name}": ${value}`,
  quote: '"',
  unique: (start) => `f"${start}{uuid.uuid4()}"`,
};

/** Writes an object of texts and numbers. None of the texts has a quotation mark. */
function literal(data: Record<string, unknown>, { brackets, entry, quote, unique }: Syntax): string {
  const entries = Object.entries(data).map(([name, value]) => {
    if (typeof value !== 'string') return entry(name, String(value));
    return entry(name, value.endsWith(UNIQUE) ? unique(value.slice(0, -UNIQUE.length)) : quote + value + quote);
  });
  return brackets[0] + entries.join(', ') + brackets[1];
}
