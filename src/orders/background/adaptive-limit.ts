/** A call this short is never slow. */
const SHORT_MS = 50;
/** A call is slow if it takes this many times as long as calls do without a queue. */
const SLOW_FACTOR = 3;
const DECREASE = 0.9;
/** Raises the minimum by 0.5 % per call, so that an outdated one fades. */
const FORGET_FACTOR = 1.005;

/** A limit of concurrent calls that follows their durations: it falls as soon as calls queue behind each other. */
interface AdaptiveLimit {
  readonly current: number;
  /** @param ms how long a call took, whether or not it failed */
  observe(ms: number): void;
}

/**
 * Starts of new orders yield to everything else that the Temporal server has to do: more of them at the same time would
 * only lengthen its queues. Additive increase, multiplicative decrease, as in TCP.
 */
export function createAdaptiveLimit(max: number): AdaptiveLimit {
  let limit = Math.min(max, 4);
  let shortest = Infinity;
  return {
    get current() {
      return Math.floor(limit);
    },
    observe(ms) {
      shortest = Math.min(shortest * FORGET_FACTOR, ms);
      const isSlow = ms > SHORT_MS && ms > SLOW_FACTOR * shortest;
      limit = isSlow ? Math.max(limit * DECREASE, 1) : Math.min(limit + 1 / limit, max);
    },
  };
}
