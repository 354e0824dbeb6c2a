import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { Context } from './context';
import type { Application } from './domain/application';
import type { Checkout } from './hosted-checkout';
import type { BrowserCookie } from './browser-cookie';
import { type ApplicantState, checkoutState, isApplicantState } from './checkout-state';

/** Crockford's Base32: no I, L, O or U, which are easily misread. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
/** 40 random bits. */
const CODE_LENGTH = 8;
const CODE = new RegExp(`^[${ALPHABET}]{${CODE_LENGTH}}$`);

type HasOrder = { order: Pick<Checkout['order'], 'id'> };

/**
 * Distinguishes the applicant from everyone else with the pay link, such as the seller. An application belongs to the
 * browser that submitted it or started its payment. A code moves it to another browser.
 */
export interface ApplicantIdentity {
  /** The digest of a browser's secret for one order: orders of the same browser cannot be linked by it. */
  digestOf(browserSecret: string, checkout: HasOrder): Buffer;
  /** The digests of the secrets that a request was sent with. */
  digestsOf(ctx: Context, checkout: HasOrder): Buffer[];
  /** True if the order's application belongs to the requesting browser, or if there is none. */
  isApplicant(ctx: Context, checkout: Checkout): boolean;
  /** The order's state if only the applicant may see its page, and the requesting browser is another one. */
  hiddenState(ctx: Context, checkout: Checkout): ApplicantState | undefined;
  /** The code that moves the application to another browser, such as `4F7K-9QXM`. */
  codeOf(application: Application): Promise<string>;
  /** @param code from `normalizeCode` */
  isCodeOf(application: Application, code: string): Promise<boolean>;
}

/** @param readSecret reads the secret that all API processes share */
export function createApplicantIdentity(readSecret: () => Promise<string>, browsers: BrowserCookie): ApplicantIdentity {
  const digestOf: ApplicantIdentity['digestOf'] = (browserSecret, { order }) =>
    createHash('sha256').update(`${browserSecret}.${order.id}`).digest();
  const digestsOf: ApplicantIdentity['digestsOf'] = (ctx, checkout) =>
    browsers.secretsOf(ctx).map((browserSecret) => digestOf(browserSecret, checkout));

  const isApplicant: ApplicantIdentity['isApplicant'] = (ctx, checkout) => {
    const owner = checkout.application?.browserDigest;
    return !owner || digestsOf(ctx, checkout).some((digest) => digest.equals(owner));
  };

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
    hiddenState(ctx, checkout) {
      const state = checkoutState(checkout);
      return isApplicantState(state, checkout) && !isApplicant(ctx, checkout) ? state : undefined;
    },
    codeOf: async (application) => (await calculate(application)).replace(/(?=.{4}$)/, '-'),
    isCodeOf: async (application, code) =>
      timingSafeEqual(Buffer.from(await calculate(application)), Buffer.from(code)),
  };
}

/** @returns undefined if the text cannot be a code */
export function normalizeCode(typed: string): string | undefined {
  const code = typed
    .toUpperCase()
    .replace(/[\s\p{Pd}\p{Cf}]/gu, '')
    .replace(/O/g, '0')
    .replace(/[IL]/g, '1');
  return CODE.test(code) ? code : undefined;
}
