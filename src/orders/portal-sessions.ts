import { randomBytes, randomUUID } from 'node:crypto';
import { createLookup } from '../concurrency';
import type { PortalSessionRequest } from '../contracts/portal-schemas';
import { unavailable } from '../contracts/problem';
import { finishAction, insertAction } from '../db/operator-actions';
import type { Db } from '../db/pool';
import {
  type PortalSession,
  endPortalSession,
  findPortalLink,
  findPortalSession,
  insertPortalSession,
  startPortalSession,
} from '../db/portal-sessions';
import { withRequestContext } from '../telemetry/current-request-context';

export type { PortalSession };

/** @param baseUrl of the API, as people reach it */
export const toPortalUrl = (baseUrl: string): string => `${baseUrl.replace(/\/$/, '')}/portal`;

const newSecret = (): string => randomBytes(32).toString('base64url');

/**
 * Creates a link to the seller's page, which works once.
 * @param key the API key that asks for it; null for the operator
 */
export async function createPortalLink(
  { db, portalUrl }: { db: Db; portalUrl: string },
  sellerId: string,
  key: string | null,
  { user, read_only: readOnly = false }: PortalSessionRequest,
) {
  const link = newSecret();
  const endsAt = await insertPortalSession(db, { sellerId, key, user: user ?? null, readOnly, link });
  return {
    url: `${portalUrl}/link/${link}/`,
    expires_at: endsAt.toISOString(),
    user: user ?? null,
    read_only: readOnly,
  };
}

/** While Postgres does not answer, people get a page soon, and requests do not pile up. */
const MAX_WAIT_MS = 3000;
const TOO_MANY = unavailable('Too many sessions are looked up. Nothing changed.');

/** What the seller's page knows of links and sessions. The database's clock decides when they end. */
export function createPortalSessions(db: Db) {
  /** Records an action of a session's user in the audit log. An action that cannot be recorded is not done. */
  async function audited<T>(
    { id, user, seller }: Pick<PortalSession, 'id' | 'user'> & { seller: { id: string } },
    command: string,
    argument: object,
    act: () => Promise<T>,
  ): Promise<T> {
    const actionId = randomUUID();
    await insertAction(db, {
      id: actionId,
      operator: `seller ${seller.id}`,
      command: `portal ${command}`,
      arguments: { seller: seller.id, user, session: id, ...argument },
    });
    // The action has ended: an outcome that cannot be recorded stays `started`.
    const finish = (error: string | null) => finishAction(db, actionId, error).catch(() => undefined);
    try {
      const result = await withRequestContext({ requestId: actionId }, act);
      await finish(null);
      return result;
    } catch (error) {
      await finish((error as Error).message);
      throw error;
    }
  }

  return {
    audited,
    findLink: (link: string) => findPortalLink(db, link),
    /** Finds the session of a cookie. One that has just ended is not found. */
    find: createLookup((cookie) => findPortalSession(db, cookie), MAX_WAIT_MS, TOO_MANY, 0),

    /** Uses a link up. @returns the secret of the session's cookie; undefined if the link cannot be used */
    async start(link: string): Promise<string | undefined> {
      const cookie = newSecret();
      if (!(await startPortalSession(db, link, cookie))) return undefined;
      const session = await findPortalSession(db, cookie);
      if (session) await audited(session, 'sign in', {}, () => Promise.resolve());
      return cookie;
    },

    end: (session: PortalSession) => audited(session, 'sign out', {}, () => endPortalSession(db, session.id)),
  };
}
