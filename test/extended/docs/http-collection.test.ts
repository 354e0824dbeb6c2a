import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { PACKAGE_ROOT } from '../../../src/package';
import { BASE } from '../../support/api';
import { operations } from '../../support/contract';
import { useReceiver } from '../../support/receiver';
import { useSharedStack } from '../../support/shared-stack';

interface HttpRequest {
  title: string;
  /** Later requests refer to the response body by this name. */
  name: string | undefined;
  method: string;
  url: string;
  headers: string;
  body: string | undefined;
}

const [preamble = '', ...sections] = readFileSync(path.join(PACKAGE_ROOT, 'examples/orders.http'), 'utf8').split(
  /^### /m,
);
const variables = [...preamble.matchAll(/^@(\w+) = (.*)$/gm)].map(
  ([, name = '', value = '']) => [name, value] as const,
);
const requests = sections.map((section): HttpRequest => {
  const parts = /^(.+)\n\n(?:# @name (\w+)\n)?([A-Z]+) (\S+)\n((?:\S+: .*\n)*)(?:\n([^]*))?$/.exec(section);
  if (!parts) throw new Error(`not a request: ${section}`);
  const [, title = '', name, method = '', url = '', headers = '', body] = parts;
  return { title, name, method, url, headers, body: body?.trim() || undefined };
});

/**
 * Replaces `{{…}}` as httpYac does: by an environment variable, a new UUID, a variable or a part of an earlier
 * response.
 */
function fill(text: string, known: Record<string, unknown>, env: Record<string, string>): string {
  return text.replace(/\{\{(.+?)\}\}/g, (_, expression: string) => {
    if (expression === '$guid') return randomUUID();
    if (expression === '$timestamp') return String(Math.floor(Date.now() / 1000));
    const [, variable] = /^\$processEnv (\w+)$/.exec(expression) ?? [];
    if (variable !== undefined) return env[variable]!;
    const value = expression
      .split(/[.[\]]+/)
      .filter(Boolean)
      .reduce((at: any, key) => at[key], known);
    if (typeof value !== 'string') throw new Error(`${expression} is not defined`);
    return value;
  });
}

const stack = useSharedStack();
const receiver = useReceiver();

test('all requests of examples/orders.http succeed in order', async () => {
  const env = {
    ORDERS_URL: stack.api.url,
    SELLER_ID: stack.seller.id,
    SELLER_API_KEY: stack.seller.key,
    CHECKOUT_API_KEY: stack.api.checkoutKey,
  };
  const known: Record<string, unknown> = {};
  for (const [name, value] of variables) known[name] = fill(value, known, env);
  const outcomes: string[] = [];
  for (const { title, name, method, url, headers, body } of requests) {
    const lines = fill(headers, known, env).trim().split('\n');
    const response = await fetch(fill(url, known, env), {
      method,
      headers: Object.fromEntries(lines.map((line) => line.split(': ') as [string, string])),
      ...(body !== undefined && { body: fill(body, known, env).replace('http://127.0.0.1:4000/', receiver.url) }),
    });
    const json = (await response.json()) as Record<string, unknown>;
    if (name !== undefined) known[name] = json;
    outcomes.push(`${title}: ${response.ok ? 'ok' : JSON.stringify(json)}`);
  }
  expect(outcomes).toEqual(requests.map(({ title }) => `${title}: ok`));
});

test('examples/orders.http has exactly the operations of the OpenAPI document', () => {
  const toPattern = (url: string): string => url.replace(/\{\{?.*?\}\}?/g, '*').replace(/\?.*/, '');
  const documented = operations
    .filter(({ path }) => path.startsWith(BASE))
    .map(({ method, path }) => `${method} ${toPattern(path.slice(BASE.length))}`);
  const inCollection = requests.map(({ method, url }) => `${method} ${toPattern(url.replace('{{api}}', ''))}`);
  expect([...new Set(inCollection)].sort()).toEqual(documented.sort());
});
