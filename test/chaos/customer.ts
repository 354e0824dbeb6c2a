import { setTimeout as delay } from 'node:timers/promises';
import {
  BANK_TEST_CUSTOMERS,
  type BankOutcome,
  LENDER_TEST_CUSTOMERS,
  type LenderOutcome,
} from '../../src/checkout/sandbox/test-customers';
import { BUSINESS } from '../support/checkout';
import type { Browser, PageReply } from './browser';
import type { Ledger, OrderRecord } from './ledger';
import type { Seeded } from './seeded';

const RETRY_MS = 250;
/** Between two looks at a page that waits for the lender or the bank. */
const WAIT_MS = 500;
/** A page that asks for the same for this long is stuck: the lender is asked again within a minute after each failure. */
const STUCK_AFTER_MS = 90_000;
/** A customer who is sent back as often gives up. */
const MOST_TRIES = 3;
/** The customer tries again later: 0 is a broken connection. */
const REPEATABLE = [0, 408, 429, 502, 503, 504];

/** What a customer wants, and what happens to them at the lender and at the bank. Later attempts succeed. */
export interface Intent {
  term: 'PAY_NOW' | 'PAY_LATER';
  lender: LenderOutcome;
  bank: BankOutcome | 'cancel';
  /** Where the customer closes the browser for good. */
  leavesAt?: 'bank' | 'confirmation';
}

/** @param usualLenderOutcome for half of the customers; the others get any outcome */
export function drawIntent(random: Seeded, usualLenderOutcome: LenderOutcome): Intent {
  const leavesAt = random.pick(['bank', 'confirmation'] as const);
  return {
    term: random.pick(['PAY_NOW', 'PAY_LATER']),
    lender: random.chance(0.5) ? usualLenderOutcome : random.pick(LENDER_TEST_CUSTOMERS).name,
    bank: random.chance(0.5) ? 'approved' : random.pick([...BANK_TEST_CUSTOMERS.map(({ name }) => name), 'cancel']),
    ...(random.chance(0.15) && { leavesAt }),
  };
}

export interface CheckOutOptions {
  ledger: Ledger;
  /** When the customer leaves, in ms of `performance.now()`. */
  deadline: () => number;
  /** True if the page may be gone: the row of an order that is rebuilt after a restore gets a new pay link. */
  canVanish: boolean;
}

/**
 * A customer does what the order's page asks for, until it asks for nothing. A page that does not come is loaded again, and
 * a form that was not answered is sent again if the page still has it.
 */
export async function checkOut(
  browser: Browser,
  record: OrderRecord,
  intent: Intent,
  options: CheckOutOptions,
): Promise<void> {
  const path = record.payPath!;
  const { ledger, deadline } = options;
  let tries = 0;
  let last: { step?: string; since: number } = { since: 0 };
  for (;;) {
    const page = await browser.open(path);
    if (!isAccepted(page, path, options)) return;
    if (page.status === 200) note(record, page);
    const step = stepOf(page);
    const now = performance.now();
    if (step !== last.step) last = { step, since: now };
    if (now > deadline()) {
      if (page.status !== 200) ledger.complaints.push(`${path} never came; the last answer was ${page.status}`);
      else if (now - last.since > STUCK_AFTER_MS) ledger.complaints.push(`${path} is stuck: ${step}`);
      return;
    }
    if (step === 'end' || step === intent.leavesAt) return;
    if (step === 'wait') {
      await delay(page.status === 200 ? WAIT_MS : RETRY_MS);
      continue;
    }
    if (step === 'bank') {
      const answer = await payAtBank(browser, path, tries > 1 ? 'approved' : intent.bank);
      if (!isAccepted(answer, `${path}bank/`, options)) return;
      await delay(WAIT_MS);
      continue;
    }
    if (step === 'lender') {
      const answer = await actAtLender(browser, path);
      if (!isAccepted(answer, `${path}return/`, options)) return;
      await delay(WAIT_MS);
      continue;
    }
    const isTry = step === 'application' || step === 'payment';
    if (isTry && tries++ >= MOST_TRIES) return;
    const answer = await browser.submit(`${path}${step}/`, fieldsOf(step, intent, tries));
    if (!isAccepted(answer, `${path}${step}/`, options)) return;
    // Without a pause, the page uses up its limit at one API while the form is refused by the other, and in turns.
    if (REPEATABLE.includes(answer.status)) await delay(RETRY_MS);
  }
}

const FORMS = ['confirmation', 'choice', 'application', 'payment'] as const;
type Form = (typeof FORMS)[number];

/** What the page asks the customer for. */
function stepOf({ status, text, isRefreshing }: PageReply): Form | 'bank' | 'lender' | 'wait' | 'end' {
  if (status !== 200) return 'wait';
  const forms = [...text.matchAll(/<form method="post" action="[^"]*\/pay\/[^/]+\/([^"]+)\/"/g)].map(
    ([, name]) => name,
  );
  if (forms.includes('payment/cancel')) return 'bank';
  if (/href="[^"]*\/lender\/"/.test(text)) return 'lender';
  return FORMS.find((form) => forms.includes(form)) ?? (isRefreshing ? 'wait' : 'end');
}

function fieldsOf(step: Form, { term, lender }: Intent, tries: number): Record<string, string> {
  if (step === 'choice') return { payment_term: term };
  if (step === 'payment') return { bank: 'oak' };
  if (step === 'confirmation') return { agree: 'yes' };
  return { ...BUSINESS, email: `${tries > 1 ? 'approved' : lender}@b.example` };
}

/** Confirms the identity on the sandbox lender's page. @returns the last answer */
async function actAtLender(browser: Browser, path: string): Promise<PageReply> {
  const page = await browser.open(`${path}lender/`);
  return page.status < 400 ? browser.open(`${path}return/`) : page;
}

/** @returns the last answer */
async function payAtBank(browser: Browser, path: string, decision: Intent['bank']): Promise<PageReply> {
  const page = await browser.open(`${path}bank/`);
  const link = /<a class="button" href="([^"]*)"/.exec(page.text)?.[1];
  if (page.status !== 200 || link === undefined) return page;
  const { pathname } = new URL(link);
  const bank = await browser.open(pathname);
  // The page of a payment that was decided or cancelled has no form.
  if (bank.status !== 200 || !bank.text.includes('<form')) return bank;
  return browser.submit(
    pathname,
    decision === 'cancel' ? { decision: 'cancel' } : { decision: 'approve', customer: decision },
  );
}

/** False if the customer leaves, usually with a complaint. */
function isAccepted({ status, text }: PageReply, path: string, { ledger, canVanish }: CheckOutOptions): boolean {
  if ([200, 303].includes(status)) return true;
  if (REPEATABLE.includes(status)) return true;
  if (status !== 404 || !canVanish) {
    ledger.complaints.push(`${path} was answered ${status} ${/<h1>([^<]*)/.exec(text)?.[1] ?? ''}`);
  }
  return false;
}

/** Records what the page says about the order. */
function note(record: OrderRecord, { text, startedAt, endedAt }: PageReply): void {
  const [, heading = ''] = /<h1>([^<]*)<\/h1>/.exec(text) ?? [];
  const status = STATUS_BY_HEADING[heading.trim()];
  if (status === undefined) return;
  record.answers.push({ kind: 'page', status: 200, startedAt, endedAt, order: { status } });
}

const STATUS_BY_HEADING: Record<string, string> = {
  'You are approved': 'APPROVED',
  'Your order is complete': 'SUCCESSFUL',
  'Your application was not approved': 'UNSUCCESSFUL',
  'Your order could not be completed': 'UNSUCCESSFUL',
  'This order has expired': 'UNSUCCESSFUL',
  'This order was cancelled': 'UNSUCCESSFUL',
};
