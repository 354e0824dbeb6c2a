import Router from '@koa/router';
import type { Middleware } from 'koa';
import { Problem } from '../../contracts/problem';
import type { ProblemCode } from '../../contracts/problem-table';
import { isDatabaseUnavailable } from '../../db/database-errors';
import { isUuid } from '../../domain/text';
import type { MailAccounts } from '../../mail/mailer';
import { type CheckoutDependencies, NoProviderError } from '../use-cases/read-checkout';
import type { Lender } from '../lender/lender';
import { PaymentProviderUnavailable } from '../payments/payment-provider';
import type { SandboxBank } from '../sandbox/sandbox-bank';
import { createApplicantIdentity } from './applicant-identity';
import { createBrowserCookie } from '../../html/browser-cookie';
import { checkoutRoutes } from './checkout-routes';
import type { Context, State } from './context';
import { CsrfError, FormBodyError, createForms } from '../../html/forms';
import type { ErrorPage } from '../pages/error-page';
import * as errors from '../pages/error-page';
import { type ProviderSettings, createProviderDetails } from '../pages/provider-details';
import { type PayLinkLimits, createRouteTools } from './read-request';
import { sampleDocumentRoutes } from './sample-documents';
import { sandboxBankRoutes } from '../sandbox/sandbox-bank-routes';
import { sandboxMailRoutes } from '../sandbox/sandbox-mail-routes';
import { setSecurityHeaders } from '../../html/send-page';
import { sendPage } from './send-page';

export interface CheckoutOptions {
  deps: CheckoutDependencies;
  limits: PayLinkLimits & { countAddress: (ctx: Context) => Promise<void> };
  /** Reads the secret that signs forms, the same in all processes. */
  readSecret: () => Promise<string>;
  /** `applicationRetentionMs`: how long an application is kept after its order closes. */
  settings: ProviderSettings & { applicationRetentionMs: number };
  lenders: { sandbox: Lender; live: Lender | undefined };
  /** The accounts whose applicants we write to. */
  mails: MailAccounts;
  /** Serves the pages of the sandbox bank; undefined if payments are real. */
  sandboxBank: SandboxBank | undefined;
}

const CHECKOUT_PATH = /^\/pay(\/|$)/;
/** A pay link with the end of the sentence that it was copied from. */
const PASTED = /^(\/pay\/[0-9a-f-]{36})\/?[).,]+\/?$/i;

/** The hosted checkout. Answers every request under `/pay/` with a page, including errors. */
export function createCheckout(options: CheckoutOptions): Middleware<State> & { router: Router<State> } {
  const { deps, limits, settings, sandboxBank, mails, readSecret } = options;
  const { applicationRetentionMs: retentionMs } = settings;
  const providerDetailsOf = createProviderDetails(
    deps.checkoutBaseUrl,
    deps.payments,
    options.lenders,
    settings,
    deps.log,
  );
  const { origin, pathname, protocol } = new URL(deps.checkoutBaseUrl);
  const isHttps = protocol === 'https:';
  const browsers = createBrowserCookie('checkout', isHttps);
  const forms = createForms(readSecret, browsers, origin);
  const identity = createApplicantIdentity(browsers);
  const pathPrefix = pathname.replace(/\/$/, '');
  const router = new Router<State>();
  if (sandboxBank) router.use(sandboxBankRoutes(sandboxBank, forms, pathPrefix).routes());
  if (mails.sandbox) router.use(sandboxMailRoutes(deps.db, pathPrefix).routes());
  const pathOf = (payLinkId: string): string => `${pathPrefix}/pay/${payLinkId}`;
  const parts = { deps, forms, identity, providerDetailsOf, limits, pathOf, retentionMs, mails, readSecret };
  const tools = createRouteTools(parts);
  router.use(sampleDocumentRoutes(tools).routes());
  router.use(checkoutRoutes(tools).routes());
  const routes = router.routes() as unknown as Middleware<State>;

  const serve = async (ctx: Context): Promise<void> => {
    await routes(ctx, () => {
      const allowed = router.match(ctx.path, ctx.method).path.flatMap(({ methods }) => methods);
      if (allowed.length === 0) throw new PageNotFound('not_found');
      throw new Problem('method_not_allowed', undefined, { headers: { Allow: allowed.join(', ') } });
    });
  };

  /** Customers with a valid pay link are never refused for the mistakes of others at their address. */
  async function countMistake(ctx: Context, error: unknown): Promise<never> {
    if (error instanceof Problem && MISTAKES.includes(error.code)) await limits.countAddress(ctx);
    throw error;
  }

  const handle: Middleware<State> = async (ctx, next) => {
    if (!CHECKOUT_PATH.test(ctx.path)) {
      await next();
      return;
    }
    setSecurityHeaders(ctx, isHttps);
    const [, link] = PASTED.exec(ctx.path) ?? [];
    if (link !== undefined) {
      ctx.redirect(`${pathPrefix}${link}/`);
      return;
    }
    try {
      if (isUuid(ctx.path.split('/')[2] ?? '')) await serve(ctx).catch((error: unknown) => countMistake(ctx, error));
      else {
        await limits.countAddress(ctx);
        await serve(ctx);
      }
    } catch (error) {
      const page = errorPageFor(error);
      const { log } = ctx.state;
      if (page.status >= 500) {
        log.error({ err: error instanceof Problem ? (error.cause ?? error) : error }, 'checkout request failed');
      }
      if (error instanceof Problem) ctx.set(error.headers);
      sendPage(ctx, errors.errorPage(page, ctx.state.layout?.path));
    }
  };
  // As the middleware of a router has it: tests call every route.
  return Object.assign(handle, { router });
}

const MISTAKES: readonly ProblemCode[] = ['not_found', 'method_not_allowed', 'rate_limited'];

class PageNotFound extends Problem {}

function errorPageFor(error: unknown): ErrorPage {
  if (error instanceof PageNotFound) return errors.PAGE_NOT_FOUND;
  if (error instanceof CsrfError) return errors.SESSION_EXPIRED;
  if (error instanceof FormBodyError) return error.isTooLarge ? errors.FORM_TOO_LARGE : errors.FORM_UNREADABLE;
  if (error instanceof NoProviderError) return errors.NO_PROVIDER;
  if (error instanceof PaymentProviderUnavailable) return errors.BANK_UNAVAILABLE;
  if (isDatabaseUnavailable(error)) return errors.SERVICE_UNAVAILABLE;
  const code = error instanceof Problem ? error.code : undefined;
  if (code === 'not_found') return errors.ORDER_NOT_FOUND;
  if (code === 'method_not_allowed') return errors.METHOD_NOT_ALLOWED;
  if (code === 'rate_limited') return errors.TOO_MANY_REQUESTS;
  return code === 'service_unavailable' ? errors.SERVICE_UNAVAILABLE : errors.INTERNAL_ERROR;
}
