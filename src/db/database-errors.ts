import { isNativeError } from 'node:util/types';
import pg from 'pg';

/**
 * SQLSTATEs whose cause is not the statement: the classes for connection, login, missing database, rollback, resources,
 * operator intervention and system errors; the codes for timeouts, a standby and a database that refuses connections.
 */
const UNAVAILABLE = /^(08|28|3D|40|53|57|58)|^(25P03|25006|55000|55P03)$/;

/** True if an error means that Postgres is unavailable, so that the same call may succeed later. */
export function isDatabaseUnavailable(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return UNAVAILABLE.test(error.code ?? '');
  if (!isNativeError(error)) return false;
  // The driver's own errors have no class. A failed connect to several addresses is an AggregateError.
  return (
    'syscall' in error ||
    error.name === 'AggregateError' ||
    /timeout|Connection terminated|Client has encountered a connection error|not queryable|certificate|does not support SSL/i.test(
      error.message,
    )
  );
}

/** True if no connection of a pool was free in time. */
export function isPoolExhausted(error: unknown): boolean {
  return isNativeError(error) && error.message === 'timeout exceeded when trying to connect';
}

/** Returns the unique constraint or index that a statement violated, or undefined for any other error. */
export function violatedConstraint(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError && error.code === '23505' ? error.constraint : undefined;
}

/** True if a statement waited too long for a row of this table or index that another transaction has locked. */
export function isLockTimeout(error: unknown, relation: string): boolean {
  // Postgres names the relation in the error's context only.
  return error instanceof pg.DatabaseError && error.code === '55P03' && !!error.where?.includes(`"${relation}"`);
}
