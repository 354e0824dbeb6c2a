import { STANDARD_SCHEDULE } from '../../../src/domain/retry-schedule';
import { seeded } from '../seeded';
import type { Moment } from './moments';

/** Events of orders with one, two and three webhooks. The last event closes the order and completes its workflow. */
const EVENT_SEQUENCES = [['failed'], ['signup_started', 'declined'], ['signup_started', 'approved', 'completed']];

/** Everything that a seed decides about a run. */
export interface Plan {
  seed: number;
  moment: Moment;
  /** The events of each order. Each causes one webhook. */
  events: string[];
  /** The worker is killed at this attempt of the victim's webhook with this sequence. */
  sequence: number;
  attempt: number;
  /** How many calls for each webhook the receiver fails first. */
  failures: number;
  /** The receiver's response time in ms. */
  answerMs: number;
  /** Time between reaching the moment and the kill. */
  killAfterMs: number;
  /** How many other orders are being delivered. */
  bystanders: number;
}

export function planOf(moment: Moment, seed: number): Plan {
  const { between } = seeded(seed, moment.name);
  const yields = moment.needs === 'a successor';
  const isLoad = moment.needs === 'a load';
  const later = yields || isLoad ? 1 : 0;
  const failing = moment.needs === 'failures' ? 1 : 0;
  const events = EVENT_SEQUENCES[between(later, 2)]!;
  const failures = between(isLoad ? 2 : failing, 2);
  return {
    seed,
    moment,
    events,
    sequence: between(1, events.length - later),
    attempt: yields ? STANDARD_SCHEDULE.attemptsWithSuccessor : between(1, failures + 1 - failing),
    failures,
    answerMs: between(0, 200),
    killAfterMs: between(0, 1000),
    bystanders: isLoad ? 5 : between(1, 2),
  };
}
