import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { exitWith } from '../support/exit-with';
import globalSetup from '../support/global-setup';
import globalTeardown from '../support/global-teardown';
import { installRequirements } from '../support/python-venv';
import { startReceiver } from '../support/receiver';
import { startStack } from '../support/stack';
import { prepareOrder } from './expected-calls';
import { GENERATORS, type Generator } from './generators';
import { FOLDER, type Result, runGenerator } from './run-generator';
import { shell } from './shell';

/**
 * `npm run generated-clients -- [--short] [folders in test/clients]`: starts the service, generates a client from its
 * /openapi.json with each generator, and runs a program that makes a shop's calls with the client. A failed build, a
 * warning of the generator or another result than expected fails.
 */
async function isInstalled({ name, needs }: Generator): Promise<boolean> {
  for (const [check, runtime] of needs) {
    if ((await shell(check)).code === 0) continue;
    console.log(`${name} is not run: it needs ${runtime}.`);
    return false;
  }
  return true;
}

async function runAll(generators: readonly Generator[]): Promise<Result[]> {
  const bin = installRequirements('generated-clients', path.join(FOLDER, 'requirements.txt'));
  await globalSetup();
  const stack = await startStack();
  const receiver = await startReceiver();
  const folder = await mkdtemp(path.join(tmpdir(), 'generated-clients-'));
  const results: Result[] = [];
  try {
    const prepared = await prepareOrder(stack, receiver);
    for (const generator of generators) {
      const result = await runGenerator(generator, { stack, prepared, folder, bin });
      console.log(`\n${generator.name} ${generator.version}: ${result.wrong.length === 0 ? 'passed' : 'FAILED'}`);
      for (const call of result.calls) console.log(`  ${JSON.stringify(call)}`);
      for (const one of result.wrong) console.log(`  wrong: ${one}`);
      results.push(result);
    }
  } finally {
    await receiver.stop();
    await stack.stop();
    await globalTeardown();
  }
  if (results.some(({ wrong }) => wrong.length > 0)) console.log(`The generated code is in ${folder}`);
  else await rm(folder, { recursive: true });
  return results;
}

async function main(names: readonly string[]): Promise<number> {
  const selected = GENERATORS.filter(
    ({ driver, short }) =>
      names.length === 0 || names.includes(driver) || (names.includes('--short') && short === true),
  );
  const installed: Generator[] = [];
  for (const generator of selected) if (await isInstalled(generator)) installed.push(generator);
  if (process.env.CI && installed.length < selected.length) return 1;
  const results = await runAll(installed);
  if (results.some(({ wrong }) => wrong.length > 0)) return 1;
  return 0;
}

exitWith(main(process.argv.slice(2)));
