import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { setTimeout as delay } from 'node:timers/promises';
import type { Settlement } from '../../src/domain/order';
import { checkAnswer, checkOffer, checkSettlement } from '../../src/checkout/lender/check-answer';
import type { Applicant, LenderDecision } from '../../src/checkout/domain/application';
import {
  type Lender,
  type LenderAnswer,
  type LenderApplication,
  LenderUnavailable,
} from '../../src/checkout/lender/lender';
import { type Check, must, poll } from './checks';

/** An adapter to check, and the test customers of its lender. */
export interface LenderKit {
  lender: Lender;
  /** Test customers by what the lender answers. The checks of an answer without one are left out. */
  applicants: { approved: Applicant } & Partial<
    Record<'declined' | 'failed' | 'referred' | 'action_required', Applicant>
  >;
  /** The same adapter for a lender that cannot be reached, such as on a port where nothing listens. */
  unreachable: Lender;
  /** In pence. Default: 123,450. */
  amountPence?: number;
  /** Time for a decision, referrals included, in ms. Default: 60,000. */
  timeoutMs?: number;
}

const AMOUNT_PENCE = 123_450;
const TIMEOUT_MS = 60_000;
/** Time in which `decide` has to end once nobody needs the answer. */
const ABORT_MS = 2000;
const TODAY = '2027-01-31';
const PROMOTION = { name: 'Spring offer', interestFreeDays: 30, validUntil: '2099-12-31' };
const PRICINGS = [
  { representativeInterest: 0, promotions: [] },
  { representativeInterest: 12.9, promotions: [] },
  { representativeInterest: 12.9, promotions: [PROMOTION] },
];

export function lenderChecks(kit: LenderKit): Check[] {
  const { lender, applicants, unreachable, amountPence = AMOUNT_PENCE, timeoutMs = TIMEOUT_MS } = kit;
  /** @throws Error if the answer is invalid */
  async function ask(
    application: LenderApplication,
    { adapter = lender, signal = new AbortController().signal } = {},
  ): Promise<LenderAnswer> {
    const answer = await adapter.decide({ ...application, askedAt: new Date() }, signal);
    checkAnswer(answer, application);
    // The checks wait as short as the lender says, which may be less than the service waits.
    return answer;
  }
  const newApplication = (applicant: Applicant): LenderApplication => ({
    id: randomUUID(),
    orderId: randomUUID(),
    amountPence,
    pricing: PRICINGS[0]!,
    applicant,
    returnUrl: 'https://pay.example/pay/7a1d3b63-9b4f-4f74-8e1b-63a2a7a1b333/return/',
    returnedAt: null,
    submittedAt: new Date(),
    askedAt: new Date(),
  });

  async function decisionOn(application: LenderApplication): Promise<LenderDecision> {
    return poll<LenderDecision>(
      async () => {
        const answer = await ask(application);
        if (answer.kind === 'action_required') throw new Error('the lender needs an action of this customer');
        if (answer.kind !== 'referred') return answer;
        await delay(Math.min(answer.askAgainMs, timeoutMs));
        return undefined;
      },
      { everyMs: 0, timeoutMs, reason: 'the lender has not decided' },
    );
  }

  const checks: Check[] = [
    {
      title: 'reviewTime is a text for customers',
      run() {
        must(lender.reviewTime.trim() !== '', 'it is empty');
        return Promise.resolve();
      },
    },
    {
      title: 'quote returns valid repayments for every amount and pricing, without a call',
      run() {
        for (const pricing of PRICINGS) {
          for (const pence of [1, 100, AMOUNT_PENCE, 1_000_000_000]) {
            const quote: unknown = lender.quote({ amountPence: pence, pricing }, TODAY);
            must(!(quote instanceof Promise), 'it returns a promise, but pages show it without waiting');
            checkOffer(quote, pence);
            const again = lender.quote({ amountPence: pence, pricing }, TODAY);
            must(isDeepStrictEqual(again, quote), 'the same call returns other repayments');
          }
        }
        return Promise.resolve();
      },
    },
    {
      title: 'an application is approved with valid repayments',
      async run() {
        const decision = await decisionOn(newApplication(applicants.approved));
        must(decision.kind === 'approved', `it is ${decision.kind}`);
      },
    },
    {
      title: 'a repeated application is the same one, also if two workers ask at the same time',
      async run() {
        const application = newApplication(applicants.approved);
        const answers = await Promise.all([decisionOn(application), decisionOn(application)]);
        answers.push(await decisionOn(application));
        must(
          answers.every((answer) => isDeepStrictEqual(answer, answers[0])),
          `the answers differ: ${JSON.stringify(answers)}`,
        );
      },
    },
    {
      title: 'decide ends soon after its signal aborts',
      async run() {
        const abort = new AbortController();
        const call = lender.decide(newApplication(applicants.approved), abort.signal).catch(() => undefined);
        abort.abort(new Error('nobody needs the answer'));
        const isEnded = await Promise.race([call.then(() => true), delay(ABORT_MS, false)]);
        must(isEnded, `it still runs ${ABORT_MS} ms later`);
      },
    },
    {
      title: 'a lender that cannot be reached is LenderUnavailable, without the data of the applicant',
      async run() {
        const application = newApplication(applicants.approved);
        const error: unknown = await ask(application, { adapter: unreachable }).then(
          (answer) => new Error(`it answers ${answer.kind}`),
          (failure: unknown) => failure,
        );
        must(error instanceof LenderUnavailable, `it is another error: ${String(error)}`);
        mustNotQuote(error, application);
      },
    },
    {
      title: 'an error response that repeats the application is not quoted, if the adapter uses fetch',
      async run() {
        const application = newApplication(applicants.approved);
        const { fetch } = globalThis;
        globalThis.fetch = () => Promise.resolve(new Response(JSON.stringify(application), { status: 503 }));
        const error: unknown = await ask(application, { signal: AbortSignal.timeout(ABORT_MS) })
          .then(() => undefined)
          .catch((failure: unknown) => failure)
          .finally(() => (globalThis.fetch = fetch));
        if (error instanceof LenderUnavailable) mustNotQuote(error, application);
      },
    },
  ];

  if (lender.settlementOf)
    checks.push({
      title: 'the settlement of an agreed application is valid once it is known, and stays the same',
      async run() {
        const application = newApplication(applicants.approved);
        await decisionOn(application);
        const settlement = async () =>
          checkSettlement(await lender.settlementOf?.(application, new AbortController().signal));
        mustStay(await settlement(), await settlement());
      },
    });

  const { declined, failed, referred, action_required: acting } = applicants;
  if (declined)
    checks.push({
      title: 'an application is declined with a known code',
      async run() {
        const decision = await decisionOn(newApplication(declined));
        must(decision.kind === 'declined', `it is ${decision.kind}`);
      },
    });
  if (failed)
    checks.push({
      title: 'an application that cannot be processed is failed',
      async run() {
        const { kind } = await decisionOn(newApplication(failed));
        must(kind === 'failed', `it is ${kind}`);
      },
    });
  if (referred)
    checks.push({
      title: 'a referred application states when to ask again, and is then decided',
      async run() {
        const application = newApplication(referred);
        const answer = await ask(application);
        must(answer.kind === 'referred', `it is ${answer.kind}`);
        await decisionOn(application);
      },
    });
  if (acting)
    checks.push({
      title: 'a customer who has to act gets the address of a page',
      async run() {
        const answer = await ask(newApplication(acting));
        must(answer.kind === 'action_required', `it is ${answer.kind}`);
      },
    });
  return checks;
}

/** @param first undefined if it was not known then */
export function mustStay(first: Settlement | undefined, second: Settlement | undefined): void {
  must(!first || isDeepStrictEqual(first, second), 'a repeated question names another settlement');
}

/** @throws Error if the message contains data of the applicant */
function mustNotQuote({ message }: Error, { applicant, returnUrl }: LenderApplication): void {
  for (const value of [...Object.values(applicant), returnUrl])
    must(!message.includes(String(value)), `the message quotes "${value}", and history keeps it`);
}
