import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { parseEnv } from 'node:util';
import { CommanderError } from 'commander';
import type { Environment } from '../config';
import { escapeControls } from '../domain/text';
import { AmbiguousError, CliError, EXIT_FAILED, EXIT_USAGE, formatError } from './cli-error';
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
  const services = createServices(environment(given), input);
  const onOutputError = (error: NodeJS.ErrnoException): void => {
    // A read-only command ends when its reader has seen enough, as in `… order list | head`. Others fail at the write.
    if (error.code !== 'EPIPE') process.exit(EXIT_FAILED);
    if (services.audit.actionId === undefined) process.exit(0);
  };
  process.stdout.on('error', onOutputError);
  try {
    await createProgram(services).parseAsync(args, { from: 'user' });
    await services.audit.end();
    return services.foundTrouble ? EXIT_FAILED : 0;
  } catch (error) {
    await services.audit.end(error);
    if (error instanceof CommanderError) return exitCodeOf(error);
    process.stderr.write(`error: ${escapeControls(formatError(error))}\n`);
    if (error instanceof AmbiguousError) process.stderr.write(toTable(error.rows));
    return exitCodeOf(error);
  } finally {
    await services.close();
    process.stdout.off('error', onOutputError);
  }
}

/** The environment; if it names no database, with the settings of the service that `npm start` runs on this machine. */
function environment(given: Environment): Environment {
  const file = path.resolve(given.DATA_DIR || '.data', 'demo.env');
  if (given.DATABASE_URL || !existsSync(file)) return given;
  process.stderr.write(`using the service of npm start (${path.relative('', file)})\n`);
  return { ...given, NODE_ENV: 'development', ...parseEnv(readFileSync(file, 'utf8')) };
}

/** Commander also throws after `--help` and `--version`, with exit code 0. It has printed its own message. */
function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE;
  return error instanceof CliError ? error.exitCode : EXIT_FAILED;
}
