import type { ParameterizedContext } from 'koa';

const HOURS = 8;

/** The cookie of a session. Browsers send it only to this site and from it, and scripts cannot read it. */
export function createSessionCookie(secure: boolean) {
  // Browsers accept the prefix over https only. Sibling domains cannot set a cookie that has it.
  const name = secure ? '__Host-portal' : 'portal';
  const attributes = `Path=/; HttpOnly; SameSite=Strict${secure ? '; Secure' : ''}`;
  const cookie = new RegExp(`(?:^|; )${name}=([\\w-]{43})(?=;|$)`);
  const secretsOf = (ctx: ParameterizedContext): string[] => cookie.exec(ctx.get('Cookie'))?.slice(1, 2) ?? [];
  return {
    secretsOf,
    /** For the tokens of forms, which are bound to it. */
    issue: (ctx: ParameterizedContext): string => secretsOf(ctx)[0] ?? '',
    set: (ctx: ParameterizedContext, secret: string): void =>
      ctx.append('Set-Cookie', `${name}=${secret}; ${attributes}; Max-Age=${HOURS * 3600}`),
    clear: (ctx: ParameterizedContext): void => ctx.append('Set-Cookie', `${name}=; ${attributes}; Max-Age=0`),
  };
}
