import { STANDARD_SCHEDULE } from '../../src/domain/retry-schedule';
import type { Moment } from './moments';
import { STEPS } from './moments';

/** The lives of orders with one, two and three webhooks; each ends, and its workflow with it. */
const LIVES = [['failed'], ['signup_started', 'declined'], ['signup_started', 'approved', 'completed']];

/** All that a seed decides about a run. Times in ms. */
export interface Plan {
  seed: number;
  moment: Moment;
  /** What each order goes through: one webhook an event. */
  events: string[];
  /** The webhook, and the attempt at it, under which the worker is killed. */
  sequence: number;
  attempt: number;
  /** The receiver fails the first calls for each webhook, this many. */
  failures: number;
  /** How long the receiver takes for an answer. */
  answerMs: number;
  /** From the moment until the kill. */
  killAfterMs: number;
  /** Orders beside the victim, at whatever they happen to be. */
  bystanders: number;
}

/** Consecutive seeds take the steps in turn, and each step the ways there are to it. */
export function planOf(seed: number): Plan {
  const ways = STEPS[seed % STEPS.length]!;
  const moment = ways[Math.floor(seed / STEPS.length) % ways.length]!;
  const random = mulberry32(seed);
  const between = (min: number, max: number): number => min + Math.floor(random() * (max - min + 1));
  const givesWay = moment.needs === 'to give way';
  const isLoad = moment.needs === 'a load';
  const later = givesWay || isLoad ? 1 : 0;
  const failing = moment.needs === 'failures' ? 1 : 0;
  const events = LIVES[between(later, 2)]!;
  const failures = between(isLoad ? 2 : failing, 2);
  return {
    seed,
    moment,
    events,
    sequence: between(1, events.length - later),
    attempt: givesWay ? STANDARD_SCHEDULE.attemptsWithSuccessor : between(1, failures + 1 - failing),
    failures,
    answerMs: between(0, 200),
    killAfterMs: between(0, 1000),
    bystanders: isLoad ? 5 : between(1, 2),
  };
}

/** A small generator of numbers in [0, 1): the same ones for the same seed. */
function mulberry32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
