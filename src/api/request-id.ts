import { randomUUID } from 'node:crypto';

const VALID_ID = /^[\w.:/+=-]{1,128}$/;

/** @param given the client's `X-Request-Id`; a new id replaces one that is missing or invalid */
export function requestIdOf(given: unknown): string {
  return typeof given === 'string' && VALID_ID.test(given) ? given : randomUUID();
}
