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
  ['53100', 'disk full'],
  ['55000', 'database not accepting connections'],
  ['55P03', 'lock timeout'],
  ['57014', 'statement timeout'],
  ['58030', 'input/output error'],
  ['25006', 'a standby'],
  ['25P03', 'idle in a transaction for too long'],
])('the SQLSTATE %s (%s) is an outage', (code) => {
  expect(isDatabaseUnavailable(databaseError(code))).toBe(true);
});

test.each([
  ['23505', 'unique violation'],
  ['22P02', 'an invalid UUID'],
  ['42P01', 'no such table'],
])('the SQLSTATE %s (%s) is not an outage', (code) => {
  expect(isDatabaseUnavailable(databaseError(code))).toBe(false);
});

test.each([
  [
    'a refused connection',
    Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED', syscall: 'connect' }),
  ],
  ['a refused connection to several addresses', new AggregateError([new Error('x')])],
  ['a connection cut by the server', new Error('Connection terminated unexpectedly')],
  ['a connection timeout', new Error('timeout exceeded when trying to connect')],
  ['a query timeout', new Error('Query read timeout')],
  ['a certificate that is not trusted', new Error('unable to verify the first certificate')],
  ['a server without TLS', new Error('The server does not support SSL connections')],
])('%s is an outage', (_, error) => {
  expect(isDatabaseUnavailable(error)).toBe(true);
});

test.each([[new TypeError('x is not a function')], ['timeout'], [undefined], [null], [{ syscall: 'connect' }]])(
  '%p is not an outage',
  (error) => {
    expect(isDatabaseUnavailable(error)).toBe(false);
  },
);

test('violatedConstraint returns the name of a unique constraint, and undefined for other errors', () => {
  expect(violatedConstraint(databaseError('23505', 'orders_reference'))).toBe('orders_reference');
  expect(violatedConstraint(databaseError('23503', 'orders_seller_id_fkey'))).toBeUndefined();
  expect(violatedConstraint(new Error('orders_reference'))).toBeUndefined();
});

test('isLockTimeout recognizes a lock timeout at the given table or index only', () => {
  const where = 'while inserting index tuple (0,1) in relation "orders_reference"';
  const timeout = Object.assign(databaseError('55P03'), { where });
  expect(isLockTimeout(timeout, 'orders_reference')).toBe(true);
  expect(isLockTimeout(timeout, 'orders')).toBe(false);
  expect(isLockTimeout(databaseError('55P03'), 'orders_reference')).toBe(false);
  expect(isLockTimeout(Object.assign(databaseError('57014'), { where }), 'orders_reference')).toBe(false);
});
