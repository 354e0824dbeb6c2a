import { NO_OFFER } from '../../../../src/checkout/domain/application';
import type { Lender, LenderAnswer, LenderApplication } from '../../../../src/checkout/lender/lender';
import { LenderBusy, limitCalls } from '../../../../src/checkout/lender/guard-lender';

const APPLICATION = {} as LenderApplication;
const FAILED: LenderAnswer = { kind: 'failed' };

test('further calls are refused until one of the running calls has ended, with an answer or an error', async () => {
  const calls: { resolve: (answer: LenderAnswer) => void; reject: (error: Error) => void }[] = [];
  const hanging: Lender = {
    reviewTime: '',
    quote: () => NO_OFFER,
    decide: () => new Promise((resolve, reject) => calls.push({ resolve, reject })),
  };
  const lender = limitCalls(hanging, 2);
  const decide = () => lender.decide(APPLICATION, new AbortController().signal);
  const [first, second] = [decide(), decide()];
  await expect(decide()).rejects.toThrow(new LenderBusy("2 other applications wait for the lender's answer"));
  calls[0]!.resolve(FAILED);
  expect(await first).toBe(FAILED);
  const third = decide();
  await expect(decide()).rejects.toThrow(LenderBusy);
  calls[1]!.reject(new Error('down'));
  await expect(second).rejects.toThrow('down');
  const fourth = decide();
  for (const call of calls) call.resolve(FAILED);
  expect(await Promise.all([third, fourth])).toEqual([FAILED, FAILED]);
});
