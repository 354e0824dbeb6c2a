import type { WaitingState } from '../../../src/checkout/checkout-state';
import { waitingPage } from '../../../src/checkout/pages/waiting';

test('the waiting page changes its text after 30 seconds and refreshes less often after 90 seconds', () => {
  const after = (seconds: number, state: WaitingState = 'waiting') => {
    const now = new Date('2027-01-15T12:00:00Z');
    const since = new Date(now.getTime() - seconds * 1000);
    const { refresh, content } = waitingPage({
      path: '/pay/x',
      state,
      since,
      isRefreshing: true,
      now,
      code: undefined,
    });
    return [refresh?.afterSeconds, /usually takes|longer than usual/.exec(content.text)?.[0]];
  };
  expect([after(1), after(31), after(91)]).toEqual([
    [5, 'usually takes'],
    [5, 'longer than usual'],
    [30, 'longer than usual'],
  ]);
  expect(after(31, 'completing')).toEqual([5, 'longer than usual']);
});
