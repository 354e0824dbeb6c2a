import type { Browser } from '../../chaos/browser';
import { checkOut } from '../../chaos/customer';
import { createLedger, type OrderRecord } from '../../chaos/ledger';

const INTENT = { term: 'PAY_LATER', lender: 'approved', bank: 'approved' } as const;

/** Looks twice at a page that waits, the second time after the deadline. */
async function complaintsAfter(waitedMs: number): Promise<string[]> {
  const ledger = createLedger();
  const page = { status: 200, text: 'Waiting', isRefreshing: true, startedAt: 0, endedAt: 0 };
  const browser = { open: () => Promise.resolve(page) } as unknown as Browser;
  jest.spyOn(performance, 'now').mockReturnValueOnce(0).mockReturnValue(waitedMs);
  await checkOut(browser, { payPath: '/pay/1/' } as OrderRecord, INTENT, {
    ledger,
    deadline: () => 1,
    canVanish: false,
  });
  return ledger.complaints;
}

afterEach(() => jest.restoreAllMocks());

test.each([
  [91_000, ['/pay/1/ is stuck: wait']],
  [89_000, []],
])('after a wait of %d ms, the complaints are %j', async (waitedMs, complaints) => {
  expect(await complaintsAfter(waitedMs)).toEqual(complaints);
});
