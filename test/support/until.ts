import { setTimeout as delay } from 'node:timers/promises';

/** Waits until `probe` gives something truthy, and returns that. */
export async function until<T>(probe: () => T | Promise<T>, what: string, timeoutMs = 15_000): Promise<NonNullable<T>> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const value = await probe();
    if (value) return value;
    if (Date.now() > deadline) throw new Error(`gave up waiting until ${what}`);
    await delay(25);
  }
}
