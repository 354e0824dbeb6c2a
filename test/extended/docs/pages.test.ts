import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import ts from 'typescript';
import { PACKAGE_ROOT } from '../../../src/package';
import { useFolder } from '../../support/folder';
import { BASE } from '../../support/api';
import { useReceiver } from '../../support/receiver';
import { useStack } from '../../support/stack';
import { type CodeBlock, codeBlocks } from './markdown-blocks';
import { matcherFor, normalize } from './match-documented';

// Every command of a page is a process, which starts slowly on a busy machine.
jest.setTimeout(600_000);

/** Pages whose commands run here, in one shell for each page. */
const PAGES = [
  'README.md',
  'docs/sellers/quickstart.md',
  'docs/sellers/testing.md',
  'docs/sellers/orders.md',
  'docs/sellers/api-guide.md',
  'docs/sellers/going-live.md',
  'docs/operators/deploy.md',
  'docs/sellers/webhooks.md',
];
/** What the commands need of this repository. */
const LINKED = ['dist', 'node_modules', 'package.json'];
/** Commands that need a terminal of their own. The test's receiver and stack replace the first two. */
const OWN_TERMINAL = ['npm run receiver\n', 'npm ci && npm start\n', 'npm test\n'];

const stack = useStack({
  sandbox: true,
  env: {
    CHECKOUT_BASE_URL: 'http://127.0.0.1:3000',
    API_PUBLIC_URL: 'http://127.0.0.1:3000',
    RESPONSE_HMAC_HEADER: 'X-Shop-Signature',
    HOSTED_CHECKOUT: 'true',
  },
});
const receiver = useReceiver();
const folder = useFolder();
let env: Record<string, string | undefined>;
beforeAll(async () => {
  // As the demo seller of `npm start`.
  await stack.db.query(`update seller set name = 'Demo Shop Ltd', default_redirect_url = $1, default_cancel_url = $1`, [
    'http://127.0.0.1:8088/return',
  ]);
  mkdirSync(path.join(folder, '.data'));
  for (const name of LINKED) {
    symlinkSync(path.join(PACKAGE_ROOT, name), path.join(folder, name));
  }
  const demo = {
    ORDERS_URL: stack.api.url,
    CHECKOUT_BASE_URL: 'http://127.0.0.1:3000',
    SELLER_ID: stack.seller.id,
    SELLER_API_KEY: stack.seller.key,
    CHECKOUT_API_KEY: stack.api.checkoutKey,
    WEBHOOK_SECRET: stack.seller.webhookSecret,
    DATABASE_URL: stack.databaseUrl,
    TEMPORAL_ADDRESS: stack.env.TEMPORAL_ADDRESS!,
    TEMPORAL_NAMESPACE: stack.env.TEMPORAL_NAMESPACE!,
  };
  const lines = Object.entries(demo).map(([name, value]) => `${name}='${value}'\n`);
  writeFileSync(path.join(folder, '.data/demo.env'), lines.join(''));
  const { PATH, HOME } = process.env;
  env = { PATH, HOME, ...demo, API: stack.api.url + BASE, WEBHOOK_URL: receiver.url };
});

describe.each(PAGES)('%s', (page) => {
  const blocks = shownBlocks(page);
  const commands = blocks.flatMap(({ language, code }, index) => (language === 'sh' ? [{ code, index }] : []));
  let outputs: string[];
  beforeAll(async () => {
    const script = commands.map(({ code }) => `printf '\\f'\n${code}`).join('\n');
    outputs = await runShell(script.replaceAll('http://127.0.0.1:4000/', receiver.url));
  });

  test.each(commands)('the command works unchanged: $code', ({ index }) => {
    const output = outputs[commands.findIndex((command) => command.index === index)]!;
    expectDocumented(output, blocks.slice(index + 1));
  });
});

test('the commands of the quickstart can be run again, with a new order each time', async () => {
  const commands = shownBlocks('docs/sellers/quickstart.md').flatMap(({ language, code }) =>
    language === 'sh' ? [code] : [],
  );
  const script = `printf '\\f'\n${commands.join('\n')}`;
  const runs = [await runShell(script), await runShell(script)];
  const ids = runs.map(([output]) => /"id":"([^"]*)/.exec(output!)?.[1]);
  expect(ids).toEqual([expect.any(String), expect.any(String)]);
  expect(new Set(ids).size).toBe(2);
});

test('a bank statement, which has 18 characters, shows the whole reference of each order of the pages', async () => {
  const { rows } = await stack.db.query<{ reference: string }>(
    'select distinct reference from orders where length(reference) > 18',
  );
  expect(rows).toEqual([]);
});

test('no page leaves a file in the working directory, which is a clone, outside .data', () => {
  expect(readdirSync(folder).sort()).toEqual(['.data', ...LINKED]);
});

/** The blocks of a page without the commands for another terminal and what those print. */
function shownBlocks(page: string): CodeBlock[] {
  return codeBlocks(page).filter(({ code, language }, index, all) => {
    const printedBy = language === 'text' ? all[index - 1]?.code : code;
    return printedBy === undefined || !OWN_TERMINAL.includes(printedBy);
  });
}

/** Runs a script in one shell, which stops at the first failure, and splits its output at each form feed. */
async function runShell(script: string): Promise<string[]> {
  const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script], { env, cwd: folder });
  return stdout.split('\f').slice(1);
}

/** The blocks between a command and the next one show its output: lines of text, then JSON. */
function expectDocumented(output: string, following: readonly CodeBlock[]): void {
  const end = following.findIndex(({ language }) => language === 'sh');
  const shown = end === -1 ? following : following.slice(0, end);
  if (shown.length === 0) expect(output).not.toContain('/docs/errors/#');
  let rest = output;
  for (const { language, code } of shown) {
    if (language === 'json') {
      expect(normalize(JSON.parse(rest))).toEqual(matcherFor(JSON.parse(code)));
    } else if (language === 'text') {
      const count = linesOf(code).length;
      expect(linesOf(rest).slice(0, count).map(normalize)).toEqual(linesOf(code).map(matcherFor));
      rest = linesOf(rest).slice(count).join('\n');
    }
  }
}

const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => (normalize(line) as string).replace(/\s+/g, ' ').trim())
    .filter((line) => line !== '');

describe('docs/sellers/clients.md', () => {
  const [orders] = codeBlocks('docs/sellers/clients.md')
    .filter(({ language }) => language === 'ts')
    .map(({ code }) => code);
  const start = (name: string, code: string) => {
    mkdirSync(path.join(folder, 'shop/node_modules'), { recursive: true });
    const client = path.join(folder, 'shop/node_modules/order-service-client');
    symlinkSync(path.join(PACKAGE_ROOT, 'packages/client'), client);
    const { outputText } = ts.transpileModule(code, {
      compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 },
    });
    writeFileSync(path.join(folder, 'shop', `${name}.mjs`), outputText);
    return spawn(process.execPath, [`${name}.mjs`], { cwd: path.join(folder, 'shop'), env });
  };
  afterEach(() => rmSync(path.join(folder, 'shop'), { recursive: true }));

  test('the order example works unchanged', async () => {
    const child = start('orders', orders!);
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
    child.stderr.pipe(process.stderr);
    expect(await once(child, 'close')).toEqual([0, null]);
    const [url, statuses, ...listed] = output.trim().split('\n');
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:3000\/pay\/[0-9a-f-]{36}\/$/);
    expect(statuses).toBe('true CREATED UNSUCCESSFUL');
    expect(listed).toEqual([expect.stringMatching(/^W-[0-9a-f]{8} UNSUCCESSFUL$/)]);
  });

  test('the example type-checks', () => {
    const shop = path.join(folder, 'shop');
    mkdirSync(path.join(shop, 'node_modules'), { recursive: true });
    symlinkSync(path.join(PACKAGE_ROOT, 'node_modules/@types'), path.join(shop, 'node_modules/@types'));
    writeFileSync(path.join(shop, 'orders.mts'), orders!);
    const tsc = path.join(PACKAGE_ROOT, 'node_modules/typescript/bin/tsc');
    // The package's own declarations are tested in test/extended/client/package.test.ts.
    const paths = { 'order-service-client': [path.join(PACKAGE_ROOT, 'packages/client/src/index.ts')] };
    const compilerOptions = { noEmit: true, strict: true, skipLibCheck: true, module: 'node20', target: 'es2022' };
    const tsconfig = { compilerOptions: { ...compilerOptions, types: ['node'], paths }, include: ['*.mts'] };
    writeFileSync(path.join(shop, 'tsconfig.json'), JSON.stringify(tsconfig));
    expect(spawnSync(process.execPath, [tsc, '--project', shop], { cwd: shop, encoding: 'utf8' }).stdout).toBe('');
  });
});
