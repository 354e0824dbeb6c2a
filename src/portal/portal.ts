import Router from '@koa/router';
import type { Middleware } from 'koa';
import { Problem } from '../contracts/problem';
import { isDatabaseUnavailable } from '../db/database-errors';
import { createBrowserCookie } from '../html/browser-cookie';
import { CsrfError, FormBodyError, TOKEN_FIELD, createForms } from '../html/forms';
import { type Html, html } from '../html/html';
import { sendHtml, setSecurityHeaders } from '../html/send-page';
import type { OrderDependencies } from '../orders/dependencies';
import { createPortalSessions } from '../orders/portal-sessions';
import type { Context, PortalPage, Routes, State, Visit } from './context';
import { developerPages } from './developers';
import { PAGES, renderPage } from './layout';
import { type WaitingFor, ordersPages } from './orders';
import { createSessionCookie } from './session-cookie';
import { webhookPages } from './webhooks';

interface PortalOptions {
  deps: OrderDependencies;
  limits: {
    countAddress: (ctx: Context) => Promise<void>;
    countCaller: (ctx: Context, cost: number) => Promise<void>;
    whileCounted: <T>(ctx: Context, lookUp: () => Promise<T>) => Promise<T>;
  };
  /** Makes a request wait while its seller has too many running. */
  limitInFlight: (ctx: Context, next: () => Promise<unknown>) => Promise<void>;
  /** Reads the secret that signs forms, the same in all processes. */
  readSecret: () => Promise<string>;
  waitingFor: WaitingFor;
}

/** The session of the cookie has ended, or there is no cookie. */
class NoSession extends Error {}
class ReadOnly extends Error {}

/** The seller's page. Answers every request under its path with a page, including errors. */
export function createPortal({ deps, limits, limitInFlight, readSecret, waitingFor }: PortalOptions) {
  const { origin, pathname: path, protocol } = new URL(deps.portalUrl);
  const isHttps = protocol === 'https:';
  const sessions = createPortalSessions(deps.db);
  const cookie = createSessionCookie(isHttps);
  const forms = createForms(readSecret, cookie, origin);
  // Another browser cannot be made to use a link by a form of another site.
  const linkForms = createForms(readSecret, createBrowserCookie('portal-link', isHttps), origin);
  const router = new Router<State>({ prefix: '/portal' });

  const send = (ctx: Context, page: PortalPage): void => {
    const current = ctx.path.replace(/^\/portal/, '');
    const done = typeof ctx.query.done === 'string' ? ctx.query.done : '';
    sendHtml(ctx, renderPage(page, ctx.state.visit, current, done));
  };
  const redirect = (ctx: Context, to: string): void => {
    ctx.redirect(path + to);
    ctx.status = 303;
  };

  /** @throws NoSession */
  async function open(ctx: Context): Promise<Visit> {
    const [secret] = cookie.secretsOf(ctx);
    const session = secret && (await sessions.find(secret, (run) => limits.whileCounted(ctx, run)));
    if (!session) throw new NoSession();
    ctx.state.caller = { kind: 'seller', seller: session.seller };
    // Counted like a key of its own.
    ctx.state.apiKey = `portal session ${session.id}`;
    await limits.countCaller(ctx, 1);
    return (ctx.state.visit = { session, path, token: await forms.createToken(ctx, session.id) });
  }

  /** Adds a route that needs a session. */
  const route = (method: 'get' | 'post', to: string, answer: (visit: Visit, ctx: Context) => Promise<void>) =>
    router[method](to, async (ctx) => {
      const visit = await open(ctx);
      await limitInFlight(ctx, () => answer(visit, ctx));
    });

  const routes: Routes = {
    page: (to, show) => route('get', to, async (visit, ctx) => send(ctx, await show(visit, ctx))),
    file: (to, sendFile) => route('get', to, sendFile),
    action: (to, command, audited, act) =>
      route('post', to, async (visit, ctx) => {
        const { fields } = await forms.readVerifiedForm(ctx, visit.session.id);
        if (visit.session.readOnly) throw new ReadOnly();
        const argument = { ...ctx.params, ...Object.fromEntries(audited.map((name) => [name, fields[name]])) };
        const result = await sessions.audited(visit.session, command, argument, () => act(visit, fields, ctx));
        if (typeof result === 'string') redirect(ctx, result);
        else send(ctx, result);
      }),
  };

  ordersPages(routes, deps, waitingFor);
  webhookPages(routes, deps);
  developerPages(routes, deps);

  /** Link scanners open it too, so it changes nothing. */
  router.get('/link/:link', async (ctx) => {
    await limits.countAddress(ctx);
    const link = ctx.params.link ?? '';
    const seller = await sessions.findLink(link);
    if (seller === undefined) throw new NoSession();
    send(ctx, {
      title: `Open the page of ${seller}`,
      content: html`<p>The link works once. You are signed in for up to eight hours, or until you sign out.</p>
        <form method="post" action="${path}/link/${link}/">
          <input type="hidden" name="${TOKEN_FIELD}" value="${await linkForms.createToken(ctx, link)}" />
          <button>Open</button>
        </form>`,
    });
  });
  router.post('/link/:link', async (ctx) => {
    await limits.countAddress(ctx);
    const link = ctx.params.link ?? '';
    await linkForms.readVerifiedForm(ctx, link);
    const secret = await sessions.start(link);
    if (secret === undefined) throw new NoSession();
    cookie.set(ctx, secret);
    redirect(ctx, PAGES[0]?.[0] ?? '/');
  });
  router.post('/sign-out', async (ctx) => {
    const { session } = await open(ctx);
    await forms.readVerifiedForm(ctx, session.id);
    await sessions.end(session);
    cookie.clear(ctx);
    delete ctx.state.visit;
    send(ctx, { title: 'You are signed out', content: html`<p>Open the page again from your shop’s back office.</p>` });
  });
  router.get('/', async (ctx) => {
    await open(ctx);
    redirect(ctx, PAGES[0]?.[0] ?? '/');
  });

  const handle = router.routes() as unknown as Middleware<State>;
  const serve: Middleware<State> = async (ctx, next) => {
    if (!/^\/portal(\/|$)/.test(ctx.path)) {
      await next();
      return;
    }
    setSecurityHeaders(ctx, isHttps);
    try {
      await handle(ctx, async () => {
        await open(ctx as Context);
        const methods = router.match(ctx.path, ctx.method).path.flatMap((route) => route.methods);
        if (methods.length === 0) throw new Problem('not_found');
        throw new Problem('method_not_allowed', undefined, { headers: { Allow: methods.join(', ') } });
      });
    } catch (error) {
      if (error instanceof NoSession) await limits.countAddress(ctx as Context).catch(() => undefined);
      const page = errorPage(error, path, path + ctx.path.replace(/^\/portal/, ''));
      if (page.status === undefined || page.status >= 500)
        ctx.state.log.error(
          { err: error instanceof Problem ? (error.cause ?? error) : error },
          'portal request failed',
        );
      if (error instanceof Problem) ctx.set(error.headers);
      send(ctx as Context, page);
    }
  };
  // As the middleware of a router has it: tests call every route.
  return Object.assign(serve, { router });
}

function errorPage(error: unknown, path: string, current: string): PortalPage {
  const page = (status: number, title: string, ...lines: (string | Html)[]): PortalPage => ({
    ...{ status, title },
    content: html`${lines.map((line) => html`<p>${line}</p>`)}`,
  });
  if (error instanceof NoSession) {
    return page(
      401,
      'Your session has ended',
      'A link works once, for ten minutes. A session ends after 30 minutes without a click, and after eight hours.',
      'Open the page again from your shop’s back office.',
      // A browser sends the cookie of a session only from this site.
      html`If you came from another site just now,
        <a href="${current.startsWith(`${path}/link/`) ? `${path}/` : current}">continue</a>.`,
    );
  }
  if (error instanceof ReadOnly)
    return page(403, 'Your session is read-only', 'It can change nothing. Nothing changed.');
  if (error instanceof CsrfError)
    return page(403, 'The form is out of date', 'Nothing changed. Go back, reload the page and try again.');
  if (error instanceof FormBodyError)
    return page(error.isTooLarge ? 413 : 400, 'The form could not be read', 'Nothing changed. Go back and try again.');
  if (error instanceof Problem && error.code === 'not_found')
    return page(404, 'This page does not exist', 'It may never have existed, or belong to another account.');
  if (error instanceof Problem && error.status < 500)
    return page(error.status, 'That did not work', error.message, html`<a href="${path}/">Back to the start page</a>`);
  if (error instanceof Problem || isDatabaseUnavailable(error)) {
    const detail = error instanceof Problem ? error.message : 'The outcome is unknown if you changed something.';
    return page(503, 'The service is not available', detail, 'Try again in a few seconds.');
  }
  return page(500, 'Something went wrong', 'The error is recorded. Try again later.');
}
