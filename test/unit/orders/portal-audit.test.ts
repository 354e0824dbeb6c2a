import type { Db } from '../../../src/db/pool';
import { createPortalSessions } from '../../../src/orders/portal-sessions';

const SESSION = { id: '1', user: 'Ada', seller: { id: '2' } };

/** A database that records actions, and of which each record of an outcome is lost with its connection. */
function losingOutcomes() {
  const statements: unknown[][] = [];
  const query = (sql: string, values: unknown[]) => {
    statements.push([sql.split(' ')[0], ...values.slice(1, 2)]);
    return sql.startsWith('insert') ? Promise.resolve({}) : Promise.reject(new Error('Connection terminated'));
  };
  return { db: { query } as unknown as Db, statements };
}

test('an action whose outcome cannot be recorded returns its result, and is not recorded as failed', async () => {
  const { db, statements } = losingOutcomes();
  const { audited } = createPortalSessions(db);
  expect(await audited(SESSION, 'key create', {}, () => Promise.resolve('sk_new'))).toBe('sk_new');
  expect(statements).toEqual([
    ['insert', 'seller 2'],
    ['update', null],
  ]);
});

test('an action that fails shows its own error, also if that cannot be recorded', async () => {
  const { audited } = createPortalSessions(losingOutcomes().db);
  const failing = audited(SESSION, 'order cancel', {}, () => Promise.reject(new Error('it is SUCCESSFUL')));
  await expect(failing).rejects.toThrow('it is SUCCESSFUL');
});
