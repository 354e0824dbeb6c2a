import { NO_OFFER } from '../../../../src/checkout/domain/application';
import { abortable } from '../../../../src/checkout/lender/guard-lender';
import type { Lender } from '../../../../src/checkout/lender/lender';

const lender = (decide: Lender['decide']): Lender => abortable({ reviewTime: 'a day', quote: () => NO_OFFER, decide });

test('a call of a lender that ignores its signal ends when the signal aborts', async () => {
  const controller = new AbortController();
  const decided = lender(() => new Promise(() => undefined)).decide({} as never, controller.signal);
  controller.abort(new Error('no longer needed'));
  await expect(decided).rejects.toThrow('no longer needed');
});

test('a lender is not asked if the signal has aborted already', async () => {
  const decide = jest.fn();
  await expect(lender(decide).decide({} as never, AbortSignal.abort(new Error('too late')))).rejects.toThrow(
    'too late',
  );
  expect(decide).not.toHaveBeenCalled();
});

test('an answer of a lender is returned', async () => {
  const decided = lender(() => Promise.resolve({ kind: 'failed' })).decide({} as never, new AbortController().signal);
  expect(await decided).toEqual({ kind: 'failed' });
});
