import { createLedger, type Try } from '../../chaos/ledger';
import { figuresOf } from '../../cluster/measure';

test('a phase has what failed and for how long, of a kind of call', () => {
  const ledger = createLedger();
  const add = (kind: Try['kind'], status: number, calledAt: number, startedAt: number, endedAt: number): void =>
    void ledger.tries.push({ kind, status, calledAt, startedAt, endedAt, isSuccess: status === 200 });
  // Began before the phase, and failed in it.
  add('change', 0, 500, 500, 7500);
  add('change', 503, 500, 8000, 9000);
  add('change', 200, 500, 9500, 12_000);
  // Of another kind, and of another phase.
  add('read', 503, 15_000, 15_000, 15_100);
  add('change', 503, 21_000, 21_000, 22_000);
  add('change', 200, 15_000, 15_000, 15_100);
  expect(figuresOf(ledger, 'change', { name: 'killed', from: 1000, to: 20_000 })).toEqual({
    ...{ calls: 2, failed: 1, statuses: [0, 503], failedUntil: 0, slowUntil: 0 },
    ...{ stopped: 11_000, longest: 11_000 },
  });
});
