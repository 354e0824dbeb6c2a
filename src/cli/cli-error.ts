import { isNativeError } from 'node:util/types';
import { ConfigError } from '../config';
import { Problem } from '../contracts/problem';
import { isDatabaseUnavailable } from '../db/database-errors';
import { grpcErrorOf } from '../temporal/calls';

export const EXIT_FAILED = 1;
export const EXIT_USAGE = 2;

/** A failure whose message is complete: it is printed as it is. */
export class CliError extends Error {
  readonly exitCode: number = EXIT_FAILED;
}

export class UsageError extends CliError {
  override readonly exitCode = EXIT_USAGE;
}

/** An argument means several things. They are printed below the message. */
export class AmbiguousError extends CliError {
  constructor(
    message: string,
    readonly rows: readonly Readonly<Record<string, unknown>>[],
  ) {
    super(message);
  }
}

export class TemporalConnectionError extends CliError {}

export function formatError(error: unknown): string {
  if (isDatabaseUnavailable(error)) return `the database is unavailable: ${reasonOf(error)}`;
  return reasonOf(error);
}

/** True if Postgres or Temporal did not respond at the configured address. */
export function isConnectionError(error: unknown): boolean {
  return error instanceof TemporalConnectionError || isDatabaseUnavailable(error);
}

export function reasonOf(error: unknown): string {
  // Node throws this, with an empty message, if it tried several addresses.
  if (error instanceof AggregateError) return reasonOf(error.errors[0]);
  if (error instanceof ConfigError) return error.message.replace(/:\n\s*/, ': ').replace(/\n\s*/g, '; ');
  // The error of Temporal's client names only the call that failed.
  if (isNativeError(error) && error.cause && (error instanceof Problem || grpcErrorOf(error)))
    return `${error.message} (${reasonOf(error.cause)})`;
  return (isNativeError(error) ? error.message : String(error)).replace(/\s+/g, ' ');
}
