import { isNativeError } from 'node:util/types';
import pg from 'pg';

/**
 * SQLSTATE classes that say nothing about the statement: connection, log-in, no such database, resources, operator
 * intervention, system, rollbacks; and time-outs, a standby, a database that takes no connections (55000).
 */
const UNAVAILABLE = /^(08|28|3D|40|53|57|58)|^(25P03|25006|55000|55P03)$/;

/** Whether an error means that Postgres can't be had just now, so that the same call may go through later. */
export function isDatabaseUnavailable(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return UNAVAILABLE.test(error.code ?? '');
  if (!isNativeError(error)) return false;
  // The driver's own errors carry no class, a failed connect to several addresses is an AggregateError.
  return (
    'syscall' in error ||
    error.name === 'AggregateError' ||
    /timeout|Connection terminated|Client has encountered a connection error|not queryable/i.test(error.message)
  );
}

/** Whether a table or a column is missing. */
export function isNotMigrated(error: unknown): boolean {
  return error instanceof pg.DatabaseError && (error.code === '42P01' || error.code === '42703');
}

/** The name of the unique constraint or index that a statement ran into. */
export function violatedConstraint(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError && error.code === '23505' ? error.constraint : undefined;
}

/** Whether a statement waited too long for another one's row in that table or index. */
export function isLockTimeout(error: unknown, relation: string): boolean {
  // Postgres names it in its context alone.
  return error instanceof pg.DatabaseError && error.code === '55P03' && !!error.where?.includes(`"${relation}"`);
}
