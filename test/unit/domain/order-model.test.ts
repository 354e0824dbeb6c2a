import assert from 'node:assert/strict';
import fc from 'fast-check';
import { type OrderEvent, decide, ACTORS, isStatusChange, sequenceOf, withChange } from '../../../src/domain/order';
import { OrderModel, eventSequences } from '../../support/order-model';
import { ORDER, atMinute } from '../../support/domain-orders';

const SEQUENCES = 10_000;
const EVENTS: OrderEvent[] = ['signup_started', 'approved', 'declined', 'completed', 'failed', 'expired', 'cancel'];
/** Some clocks step back. */
const MINUTES = Array.from({ length: 19 }, (_, index) => atMinute(index - 9));

const detail = fc.record({ actor: fc.constantFrom(...ACTORS), now: fc.constantFrom(...MINUTES) });

/** Applies the events to the domain and to the model, and compares them. @returns the last status */
function run(
  events: readonly OrderEvent[],
  details: readonly { actor: (typeof ACTORS)[number]; now: string }[],
): string {
  const model = new OrderModel();
  let order = ORDER;
  events.forEach((event, index) => {
    const { actor, now } = details[index % details.length]!;
    const before = order;
    const change = decide(order, { event, actor, channel: 'api', reason: null }, now);
    const kind = typeof change === 'string' ? change : 'change';
    assert.equal(kind, model.apply(event), `${event} after ${model.events.join(', ')}`);
    if (typeof change === 'string') return;
    order = withChange(order, change);
    assert.deepEqual(order.changes.slice(0, -1), before.changes, 'the past changed');
    assert.ok(order.updatedAt >= before.updatedAt, 'time stepped back');
  });
  const { changes } = order;
  const sent = changes.filter(isStatusChange);
  assert.equal(order.status, model.status);
  assert.equal(order.version, model.events.length + 1);
  assert.equal(order.cancelledAt !== null, model.cancelled);
  assert.equal(changes.map(({ event }) => event).join(), ['created', ...model.events].join());
  // Every change of the status has a webhook, numbered without a gap.
  assert.equal(sent.map(({ to }) => to).join(), model.statuses.join());
  assert.equal(
    sent.map((change) => sequenceOf(changes, change)).join(),
    model.statuses.map((_, index) => index + 1).join(),
  );
  assert.equal(order.unsuccessfulReason !== null, order.status === 'UNSUCCESSFUL');
  return order.status;
}

test('an order agrees with a ten-line model after each of 10,000 random sequences of events', () => {
  const reached = new Set<string>();
  fc.assert(
    fc.property(eventSequences(EVENTS, 12), fc.array(detail, { minLength: 1, maxLength: 12 }), (events, details) => {
      reached.add(run(events, details));
    }),
    { numRuns: SEQUENCES },
  );
  expect(reached.size).toBe(5);
});
