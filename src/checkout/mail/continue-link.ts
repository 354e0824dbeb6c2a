import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Application } from '../domain/application';

/**
 * The end of a link to continue on another device. Calculated, not stored, so that nobody can read it in Postgres or
 * Temporal. Another application of the order has other links.
 * @param secret the one that all processes share
 */
export function linkToken(secret: string, { id }: Pick<Application, 'id'>, requestedAt: Date): string {
  return createHmac('sha256', secret).update(`continue.${id}.${requestedAt.getTime()}`).digest('base64url');
}

/** When the link was requested that ends with a token; undefined if it does not work, or no longer. */
export function findLink(
  secret: string,
  application: Pick<Application, 'id' | 'openLinks'> | undefined,
  token: string,
): Date | undefined {
  return application?.openLinks.find((requestedAt) => {
    const [given, expected] = [Buffer.from(token), Buffer.from(linkToken(secret, application, requestedAt))];
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}
