import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import ts from 'typescript';
import { PACKAGE_ROOT } from '../../../src/package';
import { operations } from '../../support/contract';
import { installed } from '../../support/installed';
import { openOrder } from '../../support/orders';
import { useReceiver } from '../../support/receiver';
import { useStack } from '../../support/stack';
import { until } from '../../support/until';

// Every sample is a process, which starts slowly on a busy machine.
jest.setTimeout(600_000);

const stack = useStack({ sandbox: true });
const receiver = useReceiver();
/** A shop's folder, for the samples that import the client. */
let folder: string;
let env: Record<string, string | undefined>;
beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'order-service-samples-'));
  mkdirSync(path.join(folder, 'node_modules'));
  symlinkSync(PACKAGE_ROOT, path.join(folder, 'node_modules/order-service'));
  const orderId = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started']);
  await until(() => receiver.deliveries.length === 1, 'the webhook arrives');
  const { pay_link_id: payLinkId } = (await stack.api.get(orderId)).body.data;
  const { PATH, HOME } = process.env;
  env = {
    ...{ PATH, HOME, ORDERS_URL: stack.api.url, SELLER_ID: stack.seller.id, SELLER_API_KEY: stack.seller.key },
    ...{ CHECKOUT_API_KEY: stack.api.checkoutKey, ORDER_ID: orderId, PAY_LINK_ID: payLinkId },
    WEBHOOK_ID: receiver.deliveries[0]!.headers['webhook-id'] as string,
  };
});
afterAll(() => rmSync(folder, { recursive: true }));

const PROGRAMS: Record<string, (source: string) => [command: string, ...args: string[]]> = {
  curl: (source) => ['bash', '-c', source],
  TypeScript: (source) => {
    const compilerOptions = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 };
    const file = path.join(folder, 'sample.mjs');
    writeFileSync(file, ts.transpileModule(source, { compilerOptions }).outputText);
    return [process.execPath, file];
  },
  PHP: (source) => ['php', '-r', source.replace(/^<\?php/, '')],
  Python: (source) => ['python3', '-c', source],
};
const CHECKS: Record<string, [string, ...string[]]> = {
  curl: ['curl', '--version'],
  TypeScript: [process.execPath, '--version'],
  PHP: ['php', '-r', 'curl_init();'],
  Python: ['python3', '--version'],
};

const keyed = operations.filter(({ operation }) => operation.security.length > 0);

/** Runs an operation's sample in a language, and returns what it prints. */
async function run(operationId: string, label: string): Promise<string> {
  const { operation } = keyed.find((one) => one.operation.operationId === operationId)!;
  const samples = (operation as unknown as { 'x-codeSamples': { label: string; source: string }[] })['x-codeSamples'];
  const [command, ...args] = PROGRAMS[label]!(samples.find((sample) => sample.label === label)!.source);
  return (await promisify(execFile)(command, args, { env })).stdout;
}

test.each(installed(Object.keys(PROGRAMS), (label) => CHECKS[label]!))(
  'the %s sample creates a new order each time that it is run',
  async (label) => {
    const links = [await run('createOrder', label), await run('createOrder', label)].map(
      (output) => /\/pay\\?\/([0-9a-f-]{36})/.exec(output)?.[1],
    );
    expect(links).toEqual([expect.any(String), expect.any(String)]);
    expect(links[0]).not.toBe(links[1]);
  },
);

test.each(keyed.map(({ operation }) => operation.operationId))(
  'the samples of %s in curl and TypeScript work, and work again',
  async (operationId) => {
    for (let times = 0; times < 2; times += 1) {
      expect(JSON.parse(await run(operationId, 'curl'))).toHaveProperty('data');
      // An error ends the program.
      await run(operationId, 'TypeScript');
    }
  },
);
