import { isNativeError } from 'node:util/types';
import { ConfigError } from '../config';
import { Problem } from '../contracts/problem';
import { isDatabaseUnavailable, isNotMigrated } from '../db/database-errors';

export const EXIT_FAILED = 1;
export const EXIT_USAGE = 2;

/** What is told as it stands. */
export class CliError extends Error {
  readonly exitCode: number = EXIT_FAILED;
}

/** The command was given something that it cannot be run with. */
export class UsageError extends CliError {
  override readonly exitCode = EXIT_USAGE;
}

export class TemporalUnreachable extends CliError {}

/** In one line, for people. */
export function formatError(error: unknown): string {
  if (isNotMigrated(error)) return 'the database lacks migrations: run node dist/src/migrate.js';
  if (isDatabaseUnavailable(error)) return `the database cannot be used: ${reasonOf(error)}`;
  return reasonOf(error);
}

/** Whether a part of the service that the settings name was not there. */
export function isUnreachable(error: unknown): boolean {
  return error instanceof TemporalUnreachable || isDatabaseUnavailable(error);
}

export function reasonOf(error: unknown): string {
  // Of a connect to several addresses that failed; its own message is empty.
  if (error instanceof AggregateError) return reasonOf(error.errors[0]);
  if (error instanceof ConfigError) return error.message.replace(/:\n\s*/, ': ').replace(/\n\s*/g, '; ');
  if (error instanceof Problem) return error.cause ? `${error.message} (${reasonOf(error.cause)})` : error.message;
  return (isNativeError(error) ? error.message : String(error)).replace(/\s+/g, ' ');
}
