import pg from 'pg';
import { isDatabaseUnavailable, isLockTimeout, violatedConstraint } from '../../../src/db/database-errors';

function databaseError(code: string, constraint?: string): Error {
  return Object.assign(new pg.DatabaseError('message', 7, 'error'), { code, constraint });
}

test.each([
  ['08006', 'connection failure'],
  ['28P01', 'wrong password'],
  ['3D000', 'no such database'],
  ['40001', 'serialization failure'],
  ['40P01', 'deadlock'],
  ['53100', 'disk full'],
  ['53300', 'too many connections'],
  ['55000', 'database not accepting connections'],
  ['55P03', 'lock timeout'],
  ['57014', 'statement timeout'],
  ['57P01', 'administrator shutdown'],
  ['57P03', 'starting up'],
  ['58030', 'input/output error'],
  ['25006', 'read-only standby'],
  ['25P03', 'idle-in-transaction timeout'],
])('SQLSTATE %s (%s) means that Postgres is unavailable', (code) => {
  expect(isDatabaseUnavailable(databaseError(code))).toBe(true);
});

test.each([
  ['23505', 'unique violation'],
  ['22P02', 'malformed UUID'],
  ['42601', 'syntax error'],
  ['42P01', 'no such table'],
  ['22021', 'malformed UTF-8'],
])('SQLSTATE %s (%s) does not mean that Postgres is unavailable', (code) => {
  expect(isDatabaseUnavailable(databaseError(code))).toBe(false);
});

test.each([
  [
    'a refused connection',
    Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED', syscall: 'connect' }),
  ],
  ['a refused connection to several addresses', new AggregateError([new Error('x')])],
  ['a connection that the server terminates', new Error('Connection terminated unexpectedly')],
  ['a connection timeout', new Error('timeout exceeded when trying to connect')],
  ['a query timeout', new Error('Query read timeout')],
])('%s means that Postgres is unavailable', (_, error) => {
  expect(isDatabaseUnavailable(error)).toBe(true);
});

test.each([[new TypeError('x is not a function')], ['timeout'], [undefined], [null], [{ syscall: 'connect' }]])(
  '%p does not mean that Postgres is unavailable',
  (error) => {
    expect(isDatabaseUnavailable(error)).toBe(false);
  },
);

test('violatedConstraint returns the name for a unique violation only', () => {
  expect(violatedConstraint(databaseError('23505', 'orders_reference'))).toBe('orders_reference');
  expect(violatedConstraint(databaseError('23503', 'orders_seller_id_fkey'))).toBeUndefined();
  expect(violatedConstraint(new Error('orders_reference'))).toBeUndefined();
});

test('isLockTimeout is true for a lock timeout on the given table or index only', () => {
  const where = 'while inserting index tuple (0,1) in relation "orders_reference"';
  const timeout = Object.assign(databaseError('55P03'), { where });
  expect(isLockTimeout(timeout, 'orders_reference')).toBe(true);
  expect(isLockTimeout(timeout, 'orders')).toBe(false);
  expect(isLockTimeout(databaseError('55P03'), 'orders_reference')).toBe(false);
  expect(isLockTimeout(Object.assign(databaseError('57014'), { where }), 'orders_reference')).toBe(false);
});
