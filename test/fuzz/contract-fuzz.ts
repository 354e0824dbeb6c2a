import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { PACKAGE_ROOT } from '../../src/package';
import { BASE } from '../support/api';
import { operations } from '../support/contract';
import { exitWith } from '../support/exit-with';
import globalSetup from '../support/global-setup';
import globalTeardown from '../support/global-teardown';
import { openOrder } from '../support/orders';
import { installRequirements } from '../support/python-venv';
import { startReceiver } from '../support/receiver';
import { type Stack, createSeller, startStack } from '../support/stack';
import { blockExternalConnections } from './block-external-connections';

/**
 * `npm run contract-fuzz -- [cases] [further arguments of schemathesis run]`: starts the service and lets Schemathesis
 * generate calls from /openapi.json, `cases` per operation: valid and invalid, with and without keys, alone and along
 * the document's links. A response that the document does not allow fails, and so does any 5xx.
 */
const FOLDER = path.join(PACKAGE_ROOT, 'test/fuzz');
const ORDERS_PER_SEQUENCE = 15;
const EVENT_SEQUENCES = [
  [],
  ['signup_started'],
  ['signup_started', 'approved'],
  ['signup_started', 'approved', 'completed'],
];

async function run(
  command: string,
  args: string[],
  env: Record<string, string> = {},
  cwd = PACKAGE_ROOT,
): Promise<number> {
  const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, stdio: 'inherit' });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}

/** Creates orders in each status, with delivered and failed webhooks, and lists their ids for Schemathesis. */
async function createOrders(stack: Stack, webhookUrl: string, folder: string): Promise<void> {
  for (let made = 0; made < ORDERS_PER_SEQUENCE * EVENT_SEQUENCES.length; made++) {
    await openOrder(stack, { webhook_url: webhookUrl }, EVENT_SEQUENCES[made % EVENT_SEQUENCES.length]);
  }
  const all = async (list: string): Promise<Record<string, string>[]> =>
    (await stack.api.call('GET', `${BASE}/seller/${stack.seller.id}/${list}/?limit=100`)).body.data;
  const [orders, webhooks] = [await all('order'), await all('webhook_event')];
  const lists = {
    sellers: [stack.seller.id],
    orders: orders.map(({ id }) => id),
    pay_links: orders.map(({ pay_link_id }) => pay_link_id),
    webhooks: webhooks.map(({ id }) => id),
  };
  for (const [name, ids] of Object.entries(lists)) {
    await writeFile(path.join(folder, name), ids.map((id) => `"${id}"\n`).join(''));
  }
  for (const name of ['schemathesis.toml', 'objects.toml'])
    await copyFile(path.join(FOLDER, name), path.join(folder, name));
}

/** Writes the callers' keys in the format of Web Fuzzing Commons. */
async function writeIdentities(
  keys: Record<'SELLER_API_KEY' | 'STRANGER_API_KEY', string>,
  folder: string,
): Promise<void> {
  const identity = (name: string, key: string) => ({
    name,
    fixedHeaders: [{ name: 'Authorization', value: `Bearer ${key}` }],
  });
  const auth = [identity('seller', keys.SELLER_API_KEY), identity('stranger', keys.STRANGER_API_KEY)];
  await writeFile(path.join(folder, 'identities.json'), JSON.stringify({ auth }));
}

/** Returns the operations that got fewer than `minimum` calls. */
async function rarelyCalled(folder: string, minimum: number): Promise<string[]> {
  const calls = JSON.parse(await readFile(path.join(folder, 'calls.json'), 'utf8')) as Record<string, number>;
  console.log(calls);
  return operations.map(({ method, path: place }) => `${method} ${place}`).filter((one) => (calls[one] ?? 0) < minimum);
}

async function fuzz(cases: string, further: string[]): Promise<number> {
  const bin = installRequirements('schemathesis', path.join(FOLDER, 'requirements.txt'));
  const command = path.join(bin, 'schemathesis');
  blockExternalConnections();
  await globalSetup();
  const folder = await mkdtemp(path.join(tmpdir(), 'contract-fuzz-'));
  // Slow calls must not get a 503, because a 5xx fails the run.
  const stack = await startStack({ env: { UPDATE_TIMEOUT_MS: '60000', DATABASE_POOL_SIZE: '10' } });
  const receiver = await startReceiver();
  receiver.answerWith(({ body }) => (body.data.sequence === 2 ? 503 : 200));
  try {
    const keys = {
      SELLER_API_KEY: stack.seller.key,
      STRANGER_API_KEY: (await createSeller(stack.db)).key,
      CHECKOUT_API_KEY: stack.api.checkoutKey,
    };
    await createOrders(stack, receiver.url, folder);
    await writeIdentities(keys, folder);
    const env = { ...keys, PYTHONPATH: FOLDER, PYTHONDONTWRITEBYTECODE: '1' };
    const runSchemathesis = (config: string, ...more: string[]): Promise<number> =>
      run(command, ['--config-file', config, 'run', `${stack.api.url}/openapi.json`, ...more], env, folder);
    const contract = await runSchemathesis('schemathesis.toml', `--max-examples=${cases}`, ...further);
    const rare = await rarelyCalled(folder, Number(cases));
    const isSelection = further.some((argument) => /^--(in|ex)clude/.test(argument));
    if (contract !== 0 || (rare.length > 0 && !isSelection)) {
      console.log(`operations with fewer than ${cases} cases: ${rare.join(', ') || 'none'}`);
      return 1;
    }
    return await runSchemathesis('objects.toml', '--max-examples=50');
  } finally {
    await receiver.stop();
    await stack.stop();
    await globalTeardown();
    await rm(folder, { recursive: true });
  }
}

const [cases = '1000', ...further] = process.argv.slice(2);
exitWith(fuzz(cases, further));
