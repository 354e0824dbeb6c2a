import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseEnv } from 'node:util';
import { type Command, CommanderError } from 'commander';
import { isReadOnly } from './cli/audit';
import { CliError, EXIT_FAILED, EXIT_USAGE, formatError, isConnectionError } from './cli/cli-error';
import { createProgram } from './cli/program';
import { createServices } from './cli/services';
import type { Environment } from './config';
import { escapeControls } from './domain/escape-controls';

/** The entry point of `npm run cli -- …`. Exit codes: 0 for success, 1 for a failure, 2 for wrong usage. */
async function main(): Promise<void> {
  const { env, file } = environment();
  const services = createServices(env);
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // A read-only command ends when its reader has seen enough, as in `… order list | head`. Others fail at the write.
    if (error.code !== 'EPIPE') process.exit(EXIT_FAILED);
    if (services.audit.actionId === undefined) process.exit(0);
  });
  try {
    await createProgram(services, (command) => {
      if (file !== undefined) announceDemo(file, command);
    }).parseAsync();
    await services.audit.end();
  } catch (error) {
    await services.audit.end(error);
    process.exitCode = exitCodeOf(error);
    if (error instanceof CommanderError) return;
    const hint = file && isConnectionError(error) ? ` (the address is from ${file}: is npm start running?)` : '';
    console.error(`error: ${escapeControls(formatError(error))}${hint}`);
  } finally {
    await services.close();
  }
}

/** The environment. If it names no database, the settings that `npm start` wrote on this machine fill the gaps. */
function environment(): { env: Environment; file?: string } {
  const file = path.resolve(process.env.DATA_DIR || '.data', 'demo.env');
  if (process.env.DATABASE_URL || !existsSync(file)) return { env: process.env };
  const given = Object.entries(process.env).filter(([, value]) => value !== '');
  return {
    env: { ...parseEnv(readFileSync(file, 'utf8')), ...Object.fromEntries(given) },
    file: path.relative('', file),
  };
}

/**
 * Names the service that the command is for.
 * @throws CliError if the command changes something and a setting of Temporal is given: it may be for another service
 */
function announceDemo(file: string, command: Command): void {
  const given = Object.keys(process.env).find((name) => name.startsWith('TEMPORAL_') && process.env[name] !== '');
  if (given !== undefined && !isReadOnly(command)) {
    throw new CliError(
      `DATABASE_URL is missing, but ${given} is set: set both, or unset ${given} to use the service of npm start (${file})`,
    );
  }
  console.error(`using the service of npm start (${file})`);
}

/** Commander also throws after `--help` and `--version`, with exit code 0. It has printed its own message. */
function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE;
  return error instanceof CliError ? error.exitCode : EXIT_FAILED;
}

void main();
