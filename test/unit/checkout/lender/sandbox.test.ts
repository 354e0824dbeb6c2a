import { type LenderApplication, LenderUnavailable } from '../../../../src/checkout/lender/lender';
import { createSandboxLender } from '../../../../src/checkout/sandbox/sandbox-lender';

const SUBMITTED = Date.parse('2027-01-15T12:00:00Z');
const REFERRAL_MS = 10_000;

function decide(
  email: string,
  { turnoverPence = 1_000_000, afterMs = 0, amountPence = 150_000, hasReturned = false } = {},
) {
  const application: LenderApplication = {
    id: 'a',
    orderId: 'o',
    amountPence,
    pricing: { representativeInterest: 0, promotions: [] },
    applicant: { businessName: 'B', companyNumber: '01234567', email, monthlyTurnoverPence: turnoverPence },
    returnUrl: 'https://pay.example/shop/pay/x/return/',
    returnedAt: hasReturned ? new Date(SUBMITTED) : null,
    submittedAt: new Date(SUBMITTED),
    askedAt: new Date(SUBMITTED + afterMs),
  };
  return createSandboxLender(REFERRAL_MS).decide(application, new AbortController().signal);
}

test.each([
  ['jo@bloggs.example', 'approved'],
  ['declined@bloggs.example', 'declined'],
  ['DECLINED+2@bloggs.example', 'declined'],
  ['failed@bloggs.example', 'failed'],
  ['referred@bloggs.example', 'referred'],
  ['referred-declined@bloggs.example', 'referred'],
  ['declinedly@bloggs.example', 'approved'],
  ['jo@declined.example', 'approved'],
])('an application of %s is %s', async (email, kind) => {
  expect(await decide(email)).toMatchObject({ kind });
});

test('a referral returns when to ask again, and the email selects the decision after it', async () => {
  expect(await decide('referred@b.example', { afterMs: 4000 })).toEqual({ kind: 'referred', askAgainMs: 6000 });
  expect(await decide('referred@b.example', { afterMs: REFERRAL_MS })).toMatchObject({ kind: 'approved' });
  expect(await decide('referred-declined@b.example', { afterMs: REFERRAL_MS })).toMatchObject({ kind: 'declined' });
});

test('the customer who has to act is sent to a page of the sandbox, and is approved after coming back', async () => {
  expect(await decide('verify@b.example')).toMatchObject({
    kind: 'action_required',
    url: 'https://pay.example/shop/pay/x/sandbox-lender/',
  });
  expect(await decide('verify@b.example', { hasReturned: true })).toMatchObject({ kind: 'approved' });
});

test('an outage ends after the duration of a referral', async () => {
  await expect(decide('outage@b.example')).rejects.toThrow(LenderUnavailable);
  expect(await decide('outage@b.example', { afterMs: REFERRAL_MS })).toMatchObject({ kind: 'approved' });
});

test('an amount above two monthly turnovers is declined', async () => {
  expect(await decide('jo@b.example', { turnoverPence: 75_000 })).toMatchObject({ kind: 'approved' });
  expect(await decide('jo@b.example', { turnoverPence: 74_999 })).toEqual({ kind: 'declined', code: 'affordability' });
});

test('the quote is the offer of an approved application, and the review time is the duration of a referral', async () => {
  const lender = createSandboxLender(REFERRAL_MS);
  const pricing = { representativeInterest: 0, promotions: [] };
  const { offer } = (await decide('jo@b.example')) as { offer: unknown };
  expect(lender.quote({ amountPence: 150_000, pricing }, '2027-01-15')).toEqual(offer);
  expect([1000, 20_000, 120_000, 3_600_000].map((ms) => createSandboxLender(ms).reviewTime)).toEqual([
    'about 1 second',
    'about 20 seconds',
    'about 2 minutes',
    'about 60 minutes',
  ]);
});
