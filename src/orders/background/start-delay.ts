/** While starts pile up, the first workflow tasks of the orders are spread over this time. */
const SPREAD_MS = 120_000;

/**
 * How long the workflow of a new order waits for a first message before it runs. A message starts it at once, so most orders
 * never wait to the end; and first workflow tasks that nobody waits for do not stand in line before those of others.
 * @param isPiledUp true if other starts wait
 */
export function startDelay(baseMs: number, isPiledUp: boolean): number {
  return baseMs > 0 && isPiledUp ? baseMs + Math.random() * SPREAD_MS : baseMs;
}
