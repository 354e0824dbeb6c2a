import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { Context } from './context';
import type { Application } from '../domain/application';
import type { Checkout } from '../domain/checkout';
import type { BrowserCookie } from '../../html/browser-cookie';
import { type ApplicantState, checkoutState, isApplicantState } from '../domain/checkout-state';

/** Crockford's Base32: no I, L, O or U, which are easily misread. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
/** 40 random bits. */
const CODE_LENGTH = 8;
const CODE = new RegExp(`^[${ALPHABET}]{${CODE_LENGTH}}$`);

type HasOrder = { order: Pick<Checkout['order'], 'id'> };

/**
 * Distinguishes the applicant from everyone else with the pay link, such as the seller. An application belongs to the
 * browser that submitted it or started its payment. A code moves it to another browser.
 * @param readSecret reads the secret that all API processes share
 */
export function createApplicantIdentity(readSecret: () => Promise<string>, browsers: BrowserCookie) {
  /** The digest of a browser's secret for one order: orders of the same browser cannot be linked by it. */
  const digestOf = (browserSecret: string, { order }: HasOrder): Buffer =>
    createHash('sha256').update(`${browserSecret}.${order.id}`).digest();

  /** The digests of the secrets that a request was sent with. */
  const digestsOf = (ctx: Context, checkout: HasOrder): Buffer[] =>
    browsers.secretsOf(ctx).map((browserSecret) => digestOf(browserSecret, checkout));

  /** True if the order's application belongs to the requesting browser, or if there is none. */
  function isApplicant(ctx: Context, checkout: Checkout): boolean {
    const owner = checkout.application?.browserDigest;
    return !owner || digestsOf(ctx, checkout).some((digest) => digest.equals(owner));
  }

  /** Calculated, not stored, so that its page can show it again. A used code is replaced: the number has changed. */
  async function calculate({ id, codeNumber }: Application): Promise<string> {
    const mac = createHmac('sha256', await readSecret())
      .update(`code.${id}.${codeNumber}`)
      .digest();
    return [...mac.subarray(0, CODE_LENGTH)].map((byte) => ALPHABET[byte % ALPHABET.length]).join('');
  }

  return {
    digestOf,
    digestsOf,
    isApplicant,

    /** The order's state if only the applicant may see its page, and the requesting browser is another one. */
    hiddenState(ctx: Context, checkout: Checkout): ApplicantState | undefined {
      const state = checkoutState(checkout);
      return isApplicantState(state, checkout) && !isApplicant(ctx, checkout) ? state : undefined;
    },

    /** The code that moves the application to another browser, such as `4F7K-9QXM`. */
    codeOf: async (application: Application): Promise<string> =>
      (await calculate(application)).replace(/(?=.{4}$)/, '-'),

    /** @param code from `normalizeCode` */
    isCodeOf: async (application: Application, code: string): Promise<boolean> =>
      timingSafeEqual(Buffer.from(await calculate(application)), Buffer.from(code)),
  };
}

export type ApplicantIdentity = ReturnType<typeof createApplicantIdentity>;

/** @returns undefined if the text cannot be a code */
export function normalizeCode(typed: string): string | undefined {
  const code = typed
    .toUpperCase()
    .replace(/[\s\p{Pd}\p{Cf}]/gu, '')
    .replace(/O/g, '0')
    .replace(/[IL]/g, '1');
  return CODE.test(code) ? code : undefined;
}
