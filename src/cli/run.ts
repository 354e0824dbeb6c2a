import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { parseEnv } from 'node:util';
import { type Command, CommanderError } from 'commander';
import type { Environment } from '../config';
import { escapeControls } from '../domain/text';
import { isReadOnly } from './audit';
import { AmbiguousError, CliError, EXIT_FAILED, EXIT_USAGE, formatError, isConnectionError } from './cli-error';
import { toTable } from './output';
import { createProgram } from './program';
import { createServices } from './services';

/**
 * Runs one command of the CLI, and prints its result or its error.
 * @param input answers questions
 * @returns the exit code: 0 for success, 1 for a failure, 2 for wrong usage
 */
export async function run(
  args: readonly string[],
  given: Environment,
  input: Readable = process.stdin,
): Promise<number> {
  const { env, file } = environment(given);
  const services = createServices(env, input);
  const onOutputError = (error: NodeJS.ErrnoException): void => {
    // A read-only command ends when its reader has seen enough, as in `… order list | head`. Others fail at the write.
    if (error.code !== 'EPIPE') process.exit(EXIT_FAILED);
    if (services.audit.actionId === undefined) process.exit(0);
  };
  process.stdout.on('error', onOutputError);
  try {
    await createProgram(services, (command) => {
      if (file !== undefined) announceDemo(file, command, given);
    }).parseAsync(args, { from: 'user' });
    await services.audit.end();
    return services.foundTrouble ? EXIT_FAILED : 0;
  } catch (error) {
    await services.audit.end(error);
    if (error instanceof CommanderError) return exitCodeOf(error);
    const hint = file && isConnectionError(error) ? ` (the address is from ${file}: is npm start running?)` : '';
    process.stderr.write(`error: ${escapeControls(formatError(error))}${hint}\n`);
    if (error instanceof AmbiguousError) process.stderr.write(toTable(error.rows));
    return exitCodeOf(error);
  } finally {
    await services.close();
    process.stdout.off('error', onOutputError);
  }
}

/** The environment. If it names no database, the settings that `npm start` wrote on this machine fill the gaps. */
function environment(given: Environment): { env: Environment; file?: string } {
  const file = path.resolve(given.DATA_DIR || '.data', 'demo.env');
  if (given.DATABASE_URL || !existsSync(file)) return { env: given };
  const set = Object.entries(given).filter(([, value]) => value !== '');
  return {
    env: { NODE_ENV: 'development', ...parseEnv(readFileSync(file, 'utf8')), ...Object.fromEntries(set) },
    file: path.relative('', file),
  };
}

/**
 * Names the service that the command is for.
 * @throws CliError if the command changes something and a setting of Temporal is given: it may be for another service
 */
function announceDemo(file: string, command: Command, given: Environment): void {
  const setting = Object.keys(given).find((name) => name.startsWith('TEMPORAL_') && given[name] !== '');
  if (setting !== undefined && !isReadOnly(command)) {
    throw new CliError(
      `DATABASE_URL is missing, but ${setting} is set: set both, or unset ${setting} to use the service of npm start (${file})`,
    );
  }
  process.stderr.write(`using the service of npm start (${file})\n`);
}

/** Commander also throws after `--help` and `--version`, with exit code 0. It has printed its own message. */
function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE;
  return error instanceof CliError ? error.exitCode : EXIT_FAILED;
}
