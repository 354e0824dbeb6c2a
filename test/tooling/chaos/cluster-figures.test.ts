import { figuresOf } from '../../cluster/measure';
import { type Answer, createLedger, type OrderRecord } from '../../chaos/ledger';

const answer = (kind: Answer['kind'], startedAt: number, endedAt: number): Answer => ({
  ...{ kind, status: 200, startedAt, endedAt },
});

test('a phase has the longest time without a success, and the longest call, of each kind', () => {
  const ledger = createLedger();
  const answers = [
    answer('create', 900, 1100),
    answer('create', 1900, 2000),
    // Began before the phase, and waited for 9 s of it.
    answer('cancel', 500, 10_000),
    answer('approved', 11_000, 11_500),
    // Not of this phase.
    answer('approved', 21_000, 30_000),
  ];
  ledger.orders.push({ answers } as OrderRecord);
  const { calls, backAfter } = figuresOf(ledger, { name: 'killed', from: 1000, to: 20_000 }, 1000);
  expect(calls.creates).toEqual({ gap: 18_000, longest: 100 });
  expect(calls.changes).toEqual({ gap: 9000, longest: 9000 });
  expect(calls.reads).toEqual({ gap: 19_000, longest: 0 });
  expect(backAfter).toBe(0);
});
