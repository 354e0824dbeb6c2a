import {
  type OrderEvent,
  type OrderStatus,
  ORDER_STATUSES,
  TRANSITIONS,
  isFinal,
  isProgressEvent,
  transition,
} from '../../../src/domain/status';

/** The table of section 3 of the specification: event, status before, status after. */
const REFUSED = undefined;
const TABLE: [OrderEvent, OrderStatus, OrderStatus | undefined][] = [
  ['signup_started', 'CREATED', 'PENDING'],
  ['signup_started', 'PENDING', REFUSED],
  ['signup_started', 'APPROVED', REFUSED],
  ['signup_started', 'SUCCESSFUL', REFUSED],
  ['signup_started', 'UNSUCCESSFUL', REFUSED],
  ['approved', 'CREATED', REFUSED],
  ['approved', 'PENDING', 'APPROVED'],
  ['approved', 'APPROVED', REFUSED],
  ['approved', 'SUCCESSFUL', REFUSED],
  ['approved', 'UNSUCCESSFUL', REFUSED],
  ['declined', 'CREATED', REFUSED],
  ['declined', 'PENDING', 'UNSUCCESSFUL'],
  ['declined', 'APPROVED', REFUSED],
  ['declined', 'SUCCESSFUL', REFUSED],
  ['declined', 'UNSUCCESSFUL', REFUSED],
  ['completed', 'CREATED', REFUSED],
  ['completed', 'PENDING', REFUSED],
  ['completed', 'APPROVED', 'SUCCESSFUL'],
  ['completed', 'SUCCESSFUL', REFUSED],
  ['completed', 'UNSUCCESSFUL', REFUSED],
  ['failed', 'CREATED', 'UNSUCCESSFUL'],
  ['failed', 'PENDING', 'UNSUCCESSFUL'],
  ['failed', 'APPROVED', 'UNSUCCESSFUL'],
  ['failed', 'SUCCESSFUL', REFUSED],
  ['failed', 'UNSUCCESSFUL', REFUSED],
  ['expired', 'CREATED', 'UNSUCCESSFUL'],
  ['expired', 'PENDING', 'UNSUCCESSFUL'],
  ['expired', 'APPROVED', 'UNSUCCESSFUL'],
  ['expired', 'SUCCESSFUL', REFUSED],
  ['expired', 'UNSUCCESSFUL', REFUSED],
  ['cancel', 'CREATED', 'UNSUCCESSFUL'],
  ['cancel', 'PENDING', 'UNSUCCESSFUL'],
  ['cancel', 'APPROVED', 'UNSUCCESSFUL'],
  ['cancel', 'SUCCESSFUL', REFUSED],
  ['cancel', 'UNSUCCESSFUL', 'UNSUCCESSFUL'],
];

test.each(TABLE)('%s in status %s leads to %s', (event, from, to) => {
  expect(transition(from, event)).toBe(to);
});

test('the table of these tests has each pair of the 5 statuses and 7 events once', () => {
  const cells = new Set(TABLE.map(([event, from]) => `${event} ${from}`));
  expect(cells.size).toBe(35);
  expect(TABLE).toHaveLength(35);
});

test('the statuses are the five of the specification', () => {
  expect(ORDER_STATUSES).toEqual(['CREATED', 'PENDING', 'APPROVED', 'SUCCESSFUL', 'UNSUCCESSFUL']);
});

test('only SUCCESSFUL and UNSUCCESSFUL are final', () => {
  expect(ORDER_STATUSES.filter(isFinal)).toEqual(['SUCCESSFUL', 'UNSUCCESSFUL']);
});

test.each([
  ['signup_started', true],
  ['approved', true],
  ['declined', true],
  ['completed', true],
  ['failed', true],
  ['expired', false],
  ['cancel', false],
  ['created', false],
  ['APPROVED', false],
  ['constructor', false],
  ['', false],
  [undefined, false],
  [null, false],
  [1, false],
])('isProgressEvent(%j) is %j', (event, expected) => {
  expect(isProgressEvent(event)).toBe(expected);
});

test('UNSUCCESSFUL is the only status that orders reach in several ways, so any other one proves the version', () => {
  const after = Object.values(TRANSITIONS).flatMap((row) => Object.values(row));
  expect(ORDER_STATUSES.filter((status) => after.filter((to) => to === status).length > 1)).toEqual(['UNSUCCESSFUL']);
});
