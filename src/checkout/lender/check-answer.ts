import { z } from 'zod';
import { printableText } from '../../contracts/fields';
import { MAX_INTEREST_FREE_DAYS, MAX_INTEREST_PERCENT, type Settlement } from '../../domain/order';
import type { LenderAnswer, LenderApplication } from './lender';
import { type Offer, totalPence } from '../domain/application';
import { isThisMachine, parseUrl } from '../../domain/web-url';

/** The least and the most time until the lender is asked again, whatever its adapter says. */
const ASK_AGAIN_MS = { least: 5000, most: 86_400_000 };

const askAgainMs = z
  .number()
  .positive()
  .transform((ms) => Math.min(Math.max(ms, ASK_AGAIN_MS.least), ASK_AGAIN_MS.most));

const instalment = z.object({ dueInMonths: z.int().positive(), amountPence: z.int().positive() });

const offerFor = (amountPence: number) =>
  z
    .object({
      instalments: z
        .array(instalment)
        .min(1)
        .refine(
          (all) => all.every(({ dueInMonths }, index) => dueInMonths > (all[index - 1]?.dueInMonths ?? 0)),
          'must be in the order of their months',
        ),
      annualInterest: z.number().nonnegative().max(MAX_INTEREST_PERCENT).optional(),
      promotion: z
        .object({ name: z.string().min(1), interestFreeDays: z.int().min(1).max(MAX_INTEREST_FREE_DAYS) })
        .optional(),
    })
    .refine((offer) => totalPence(offer) >= amountPence, 'the instalments do not repay the amount');

/** Checks what a lender answers. @throws Error that names no value of the answer, because it may be personal data */
export function checkAnswer(
  answer: unknown,
  { amountPence, returnUrl }: Pick<LenderApplication, 'amountPence' | 'returnUrl'>,
): LenderAnswer {
  const url = pageFor(returnUrl);
  return parse(
    z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('approved'), offer: offerFor(amountPence), settlement: settlement.optional() }),
      z.object({ kind: z.literal('declined'), code: z.enum(['affordability', 'credit_check', 'other']) }),
      z.object({ kind: z.literal('failed') }),
      z.object({ kind: z.literal('referred'), askAgainMs }),
      z.object({ kind: z.literal('action_required'), url, askAgainMs }),
    ]),
    answer,
  );
}

/** As `checkAnswer`, for a quote. */
export const checkOffer = (offer: unknown, amountPence: number): Offer => parse(offerFor(amountPence), offer);

/** As `checkAnswer`, for the URL of a bank's page. */
export const checkPage = (url: unknown, returnUrl: string): string => parse(pageFor(returnUrl), url);

const settlement = z.object({
  reference: printableText(255),
  feePence: z.int().nonnegative(),
  payoutDate: z.iso.date(),
});

/** As `checkAnswer`, for a settlement; undefined if it is not known yet. */
export const checkSettlement = (value: unknown): Settlement | undefined => parse(settlement.optional(), value);

const pageFor = (returnUrl: string) =>
  z.string().refine((url) => isSafe(url, returnUrl), 'must be an https URL, or http on this machine');

/** The checkout's own origin uses http only in development. */
function isSafe(url: string, returnUrl: string): boolean {
  const { protocol, hostname, origin } = parseUrl(url) ?? {};
  if (protocol === undefined || hostname === undefined) return false;
  if (protocol !== 'http:') return protocol === 'https:';
  return isThisMachine(hostname) || origin === new URL(returnUrl).origin;
}

function parse<T>(schema: z.ZodType<T>, value: unknown): T {
  const { success, data, error } = schema.safeParse(value);
  if (success) return data;
  throw new Error(error.issues.map(({ path, message }) => `${path.join('.') || 'the value'}: ${message}`).join('; '));
}
