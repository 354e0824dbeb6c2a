import { findDeadlock } from '../../support/find-deadlock';

const DEADLOCK = `2027-01-02 03:04:05.678 UTC [12] ERROR:  deadlock detected
2027-01-02 03:04:05.678 UTC [12] DETAIL:  Process 12 waits for ShareLock on transaction 3; blocked by process 4.
\tProcess 4: update orders
2027-01-02 03:04:05.678 UTC [12] STATEMENT:  select from orders
`;
const start = '2027-01-02 03:04:04.000 UTC [1] LOG:  database system is ready to accept connections\n';
const end = '2027-01-02 03:04:06.000 UTC [1] LOG:  checkpoint starting: time\n';

test('a deadlock is found with the statements that waited for each other', () => {
  expect(findDeadlock(start + DEADLOCK + end)).toBe(DEADLOCK);
});

test('other errors are not deadlocks', () => {
  expect(findDeadlock(`${start}2027-01-02 03:04:05.678 UTC [12] ERROR:  chaos\n${end}`)).toBeUndefined();
});
