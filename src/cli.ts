import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseEnv } from 'node:util';
import { CommanderError } from 'commander';
import { CliError, EXIT_FAILED, EXIT_USAGE, isUnreachable, formatError } from './cli/errors';
import { createProgram } from './cli/program';
import { createServices } from './cli/services';
import type { Environment } from './config';

/** `npm run cli -- …`. Ends with 0 where all went well, 1 where it failed, 2 where it was used wrongly. */
async function main(): Promise<void> {
  const { env, file } = environment();
  const services = createServices(env);
  try {
    await createProgram(services).parseAsync();
  } catch (error) {
    process.exitCode = exitCodeOf(error);
    if (error instanceof CommanderError) return;
    const hint = file && isUnreachable(error) ? ` (the address is from ${file}: is npm start up?)` : '';
    console.error(`error: ${formatError(error)}${hint}`);
  } finally {
    await services.close();
  }
}

/** The settings; those of `npm start` on this machine where no database is named. */
function environment(): { env: Environment; file?: string } {
  const file = path.resolve(process.env.DATA_DIR || '.data', 'demo.env');
  if (process.env.DATABASE_URL || !existsSync(file)) return { env: process.env };
  const given = Object.entries(process.env).filter(([, value]) => value !== '');
  return {
    env: { ...parseEnv(readFileSync(file, 'utf8')), ...Object.fromEntries(given) },
    file: path.relative('', file),
  };
}

/** Commander has told already what it throws; asked-for help is no error. */
function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE;
  return error instanceof CliError ? error.exitCode : EXIT_FAILED;
}

// Whoever reads has read enough, as in `… order list | head`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : EXIT_FAILED));

void main();
