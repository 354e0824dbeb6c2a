import { setTimeout as delay } from 'node:timers/promises';

/** Waits until every API process has forgotten the owners of keys, which it remembers for a second. */
export const forgetCallers = (): Promise<void> => delay(1100);
