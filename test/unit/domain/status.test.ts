import {
  type OrderEvent,
  type OrderStatus,
  ORDER_STATUSES,
  ORDER_EVENTS,
  transition,
  TRANSITIONS,
} from '../../../src/domain/order';

/** The table of section 3 of the specification: the status after each event, in the order of ORDER_STATUSES. */
const NO = undefined;
const END = 'UNSUCCESSFUL';
const TABLE: Record<OrderEvent, (OrderStatus | undefined)[]> = {
  signup_started: ['PENDING', NO, NO, NO, NO],
  approved: [NO, 'APPROVED', NO, NO, NO],
  declined: [NO, END, NO, NO, NO],
  completed: [NO, NO, 'SUCCESSFUL', NO, NO],
  failed: [END, END, END, NO, NO],
  expired: [END, END, END, NO, NO],
  cancel: [END, END, END, NO, END],
};

test.each(ORDER_EVENTS)('%s leads from each status to the one in the table, or is refused', (event) => {
  expect(ORDER_STATUSES.map((status) => transition(status, event))).toEqual(TABLE[event]);
});

test('UNSUCCESSFUL is the only status that orders reach in several ways, so any other one proves the version', () => {
  const after = Object.values(TRANSITIONS).flatMap((row) => Object.values(row));
  expect(ORDER_STATUSES.filter((status) => after.filter((to) => to === status).length > 1)).toEqual(['UNSUCCESSFUL']);
});
