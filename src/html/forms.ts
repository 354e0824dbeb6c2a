import { createHmac, timingSafeEqual } from 'node:crypto';
import { parse as parseFields } from 'node:querystring';
import bodyParser from 'koa-bodyparser';
import type { ParameterizedContext } from 'koa';
import type { BrowserCookie } from './browser-cookie';

/** The form was not rendered for this browser and subject, or it comes from another site. */
export class CsrfError extends Error {}

/** The request body could not be read as a form. */
export class FormBodyError extends Error {
  constructor(readonly isTooLarge: boolean) {
    super('the form could not be read');
  }
}

export const TOKEN_FIELD = 'form_token';
/** Old browsers and other clients send no header; `none` is a reload by the customer. */
const SAME_SITE = ['', 'same-origin', 'none'];

/**
 * Protects the forms with tokens that are bound to the browser, by its cookie, and to a subject: the id of a pay link or
 * of a payment.
 * @param readSecret reads the secret that all API processes share
 * @param ownOrigin the public origin of the pages
 */
export function createForms(readSecret: () => Promise<string>, browsers: BrowserCookie, ownOrigin: string) {
  const sign = async (browserSecret: string, subject: string): Promise<string> =>
    createHmac('sha256', await readSecret())
      .update(`${browserSecret}.${subject.toLowerCase()}`)
      .digest('base64url');

  return {
    /** Creates the token for a form. Sets or renews the cookie. */
    createToken: (ctx: ParameterizedContext, subject: string): Promise<string> => sign(browsers.issue(ctx), subject),

    /**
     * Reads a form that was sent, and verifies its token.
     * @returns its fields, and the secret of the browser that it was rendered for
     * @throws CsrfError
     * @throws FormBodyError
     */
    async readVerifiedForm(ctx: ParameterizedContext, subject: string) {
      const fields = await readFields(ctx);
      const given = Buffer.from(fields[TOKEN_FIELD] ?? '');
      for (const browserSecret of isCrossSite(ctx, ownOrigin) ? [] : browsers.secretsOf(ctx)) {
        const expected = Buffer.from(await sign(browserSecret, subject));
        if (expected.length === given.length && timingSafeEqual(expected, given)) return { fields, browserSecret };
      }
      throw new CsrfError();
    },
  };
}

export type Forms = ReturnType<typeof createForms>;

/** An option of co-body that the types lack. Its own parser builds objects, and a small body can hold it up. */
const CO_BODY_OPTIONS = { qs: { parse: (text: string) => parseFields(text) } };

const parse = bodyParser({
  enableTypes: ['form'],
  ...CO_BODY_OPTIONS,
  formLimit: '16kb',
  onerror: (error: Error & { status?: number }) => {
    throw new FormBodyError(error.status === 413);
  },
});

/**
 * Reads the form's text fields; repeated fields are left out. Browsers do not compress forms, and a few
 * compressed bytes can expand to megabytes.
 */
async function readFields(ctx: ParameterizedContext): Promise<Record<string, string>> {
  if (ctx.get('Content-Encoding') !== '') throw new FormBodyError(false);
  await parse(ctx, () => Promise.resolve());
  const body: unknown = ctx.request.body;
  const entries = typeof body === 'object' && body !== null ? Object.entries(body) : [];
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
}

/**
 * Under `Referrer-Policy: no-referrer` browsers send `Origin: null` with our own forms too. `Sec-Fetch-Site`, which
 * pages cannot forge, distinguishes them from forms of other sites.
 */
function isCrossSite(ctx: ParameterizedContext, ownOrigin: string): boolean {
  return !['', 'null', ownOrigin].includes(ctx.get('Origin')) || !SAME_SITE.includes(ctx.get('Sec-Fetch-Site'));
}
