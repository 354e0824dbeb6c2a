import { randomUUID } from 'node:crypto';
import { cp, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { PACKAGE_ROOT } from '../../src/package';
import type { Stack } from '../support/stack';
import { type Call, type PreparedOrder, checkCalls } from './expected-calls';
import { type Generator, HARMLESS } from './generators';
import { type ShellResult, shell } from './shell';

export const FOLDER = path.join(PACKAGE_ROOT, 'test/clients');

export interface Result {
  calls: readonly Call[];
  /** Unknown warnings, failed commands and calls with another result than expected. */
  wrong: string[];
}

interface Setting {
  stack: Stack;
  prepared: PreparedOrder;
  /** Gets a folder per generator. */
  folder: string;
  /** The folder with the generators that are Python programs, and their Python. */
  bin: string;
}

/** Generates a client from the service's document, makes the driver's calls with it, and compares the results. */
export async function runGenerator(generator: Generator, setting: Setting): Promise<Result> {
  const { stack, prepared, folder, bin } = setting;
  const cwd = path.join(folder, generator.driver);
  await cp(path.join(FOLDER, generator.driver), cwd, { recursive: true });
  const document = await fetch(`${stack.api.url}/openapi.json`);
  await writeFile(path.join(cwd, 'openapi.json'), await document.text());
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
  const result: Result = { calls: [], wrong: [] };
  let last: ShellResult | undefined;
  const { install, command: generate, build, run } = generator;
  for (const command of [...(install === undefined ? [] : [install]), generate, ...build, run]) {
    last = await shell(command, cwd, env);
    if (last.code !== 0) result.wrong.push(`${command} failed:\n${last.output.slice(0, 3000)}`);
    if (command === generate) {
      const warnings = [...new Set<string>(last.output.match(generator.warning))];
      result.wrong.push(...warnings.filter((warning) => !HARMLESS.some((text) => warning.includes(text))));
    }
    if (last.code !== 0) return result;
  }
  const lines = last?.stdout.split('\n').filter((line) => line.startsWith('{')) ?? [];
  result.calls = lines.map((line) => JSON.parse(line) as Call);
  result.wrong.push(...(await checkCalls(stack, prepared, result.calls)));
  return result;
}
