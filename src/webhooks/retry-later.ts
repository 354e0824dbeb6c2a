/** The delivery has not ended. The same call is made again after `delayMs`. The message contains no URL. */
export class RetryLater extends Error {
  constructor(
    message: string,
    readonly delayMs: number,
  ) {
    super(message);
  }
}

/**
 * The wait of a refused call: up to `stepMs` for each refused one, at random, because calls that were refused together
 * would be refused together again. The more are refused, the less often each asks.
 */
export function growingWait(refused: number, stepMs: number, maxMs: number): number {
  return Math.min(refused * stepMs, maxMs) * (0.5 + Math.random() / 2);
}
