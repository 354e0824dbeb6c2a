import timers from 'node:timers/promises';

interface HeldDelays {
  /** How many have begun. */
  count(): number;
  /** Ends those that have begun. Later ones take their time again. */
  release(): void;
}

/** Holds all delays of exactly `ms` in this process until the test releases them. */
export function holdDelays(ms: number): HeldDelays {
  const delay = timers.setTimeout;
  const held: (() => void)[] = [];
  const spy = jest
    .spyOn(timers, 'setTimeout')
    .mockImplementation((delayMs, value, options) =>
      delayMs === ms
        ? new Promise<unknown>((resolve) => held.push(() => resolve(value)))
        : delay(delayMs, value, options),
    );
  return {
    count: () => held.length,
    release() {
      spy.mockRestore();
      for (const end of held) end();
    },
  };
}

interface OwnClock {
  /** The delays so far, in ms. */
  delays: number[];
  pass(ms: number): void;
}

/**
 * Replaces `performance.now` and delays: only the test and the delays move this clock, and a delay takes no time. For
 * processes in which nothing else uses either. Needs `jest.restoreAllMocks()` after the test.
 */
export function ownClock(): OwnClock {
  const delays: number[] = [];
  let now = 0;
  jest.spyOn(performance, 'now').mockImplementation(() => now);
  jest.spyOn(timers, 'setTimeout').mockImplementation((ms = 0, value) => {
    delays.push(ms);
    now += ms;
    return Promise.resolve(value);
  });
  return { delays, pass: (ms) => void (now += ms) };
}

/** Moves `Date.now` forward. Needs `jest.restoreAllMocks()` after the test. */
export function moveClock(ms: number): void {
  const now = Date.now;
  jest.spyOn(Date, 'now').mockImplementation(() => now() + ms);
}
