/** The gap between the first workflow tasks of new orders that no request has reached. */
const GAP_MS = 250;
/** No workflow waits longer than this, however many there are. */
const LONGEST_MS = 2 * 60 * 60_000;

/**
 * Creates a function that returns how long the workflow of the next new order waits for a first message before it runs.
 * A message starts it immediately, so most orders never wait to the end. The first tasks of a burst are spread evenly:
 * if they came together, they would queue ahead of the tasks that people wait for, and push used workflows out of the
 * worker's cache.
 * @param baseMs the delay of a single new order; 0: no workflow waits
 */
export function createStartDelay(baseMs: number): () => number {
  let latest = 0;
  return () => {
    if (baseMs === 0) return 0;
    const now = Math.round(performance.now());
    latest = Math.max(latest + GAP_MS, now + baseMs);
    const longest = Math.max(baseMs, LONGEST_MS);
    if (latest <= now + longest) return latest - now;
    latest = now + longest;
    return baseMs + Math.random() * (longest - baseMs);
  };
}
