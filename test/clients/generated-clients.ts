import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { randomUUID } from 'node:crypto';
import { PACKAGE_ROOT } from '../../tools/package-root';
import globalSetup from '../support/global-setup';
import globalTeardown from '../support/global-teardown';
import { installRequirements } from '../support/python-venv';
import { startReceiver } from '../support/receiver';
import { type Stack, startStack } from '../support/stack';
import { type Call, type PreparedOrder, checkCalls, prepareOrder } from './expected-calls';
import { GENERATORS, type Generator } from './generators';
import { type Result, countLines, printResult, writeTable } from './report';
import { shell } from './shell';

/**
 * `npm run generated-clients -- [--short] [drivers]`: starts the service, generates a client from its /openapi.json with
 * each generator, and runs a program that makes a shop's calls with it. Fails if a result differs from the service's.
 * All generators together also write the table in docs/generated-clients.md.
 */
const FOLDER = path.join(PACKAGE_ROOT, 'test/clients');

interface Setting {
  stack: Stack;
  prepared: PreparedOrder;
  folder: string;
  bin: string;
}

/** Returns how to install what a generator needs, or nothing if it is installed. */
async function missing({ needs }: Generator): Promise<string[]> {
  const checked = await Promise.all(needs.map(async ([check, packages]) => ({ ...(await shell(check)), packages })));
  return checked.filter(({ code }) => code !== 0).map(({ packages }) => packages);
}

async function runGenerator(generator: Generator, { stack, prepared, folder, bin }: Setting): Promise<Result> {
  const cwd = path.join(folder, generator.driver);
  await cp(path.join(FOLDER, generator.driver), cwd, { recursive: true });
  const document = await (await fetch(`${stack.api.url}/openapi.json`)).text();
  await writeFile(path.join(cwd, 'openapi.json'), document);
  await writeFile(path.join(cwd, 'webhook.json'), prepared.webhookBody);
  const env = {
    PATH: `${bin}${path.delimiter}${process.env.PATH}`,
    PYTHONDONTWRITEBYTECODE: '1',
    BASE_URL: stack.api.url,
    SELLER_ID: stack.seller.id,
    SELLER_API_KEY: stack.seller.key,
    REFERENCE: `${generator.driver}-${randomUUID()}`,
    MISSING_ORDER_ID: randomUUID(),
    TIMELINE_ORDER_ID: prepared.id,
  };
  const generated = await shell(generator.command, cwd, env);
  const result: Result = {
    generator,
    lines: await countLines(path.join(cwd, generator.output[0]), generator.output[1]),
    warnings: generated.output.match(generator.warning) ?? [],
    calls: [],
    wrong: generated.code === 0 ? [] : [`${generator.command} failed:\n${generated.output.slice(-3000)}`],
  };
  for (const command of generated.code === 0 ? generator.build : []) {
    const built = await shell(command, cwd, env);
    if (built.code !== 0) return { ...result, wrong: [`${command} failed:\n${built.output.slice(0, 3000)}`] };
  }
  if (result.wrong.length > 0) return result;
  const driven = await shell(generator.run, cwd, env);
  const calls = driven.stdout.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as Call] : []));
  const failed = driven.code === 0 ? [] : [`${generator.run} failed:\n${driven.output.slice(-3000)}`];
  return { ...result, calls, wrong: [...(await checkCalls(stack, prepared, calls)), ...failed] };
}

async function main(selected: readonly Generator[]): Promise<number> {
  const installed: Generator[] = [];
  for (const generator of selected) {
    const packages = await missing(generator);
    if (packages.length === 0) installed.push(generator);
    else console.log(`${generator.name} is ${process.env.CI ? 'not run' : 'skipped'}: it needs ${packages.join(' ')}.`);
  }
  const bin = installRequirements('generated-clients', path.join(FOLDER, 'requirements.txt'));
  await globalSetup();
  const stack = await startStack();
  const receiver = await startReceiver();
  const folder = await mkdtemp(path.join(tmpdir(), 'generated-clients-'));
  const results: Result[] = [];
  try {
    const prepared = await prepareOrder(stack, receiver);
    for (const generator of installed) {
      const result = await runGenerator(generator, { stack, prepared, folder, bin });
      printResult(result);
      results.push(result);
    }
  } finally {
    await receiver.stop();
    await stack.stop();
    await globalTeardown();
  }
  const failed = results.some(({ wrong }) => wrong.length > 0);
  if (failed) console.log(`The generated code is in ${folder}`);
  else await rm(folder, { recursive: true });
  if (!failed && results.length === GENERATORS.length) await writeTable(results);
  return failed || (process.env.CI && installed.length < selected.length) ? 1 : 0;
}

const names = process.argv.slice(2);
const isSelected = ({ driver, short }: Generator): boolean =>
  names.length === 0 || names.includes(driver) || (names.includes('--short') && short === true);
void main(GENERATORS.filter(isSelected)).then(
  (code) => process.exit(code),
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);
