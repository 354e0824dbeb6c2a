import { type RecordedRun, addRun, parseResults, passedRuns, tablesOf } from '../../chaos/results';

const VERSION = { product: 'new', harness: 2 };

const run = (changes: Partial<RecordedRun> = {}): RecordedRun => ({
  ...{ cell: 'SIGKILL a worker', group: 'process', seed: 1, at: '2026-11-23T10:00Z', commit: 'c1', ...VERSION },
  ...{ rate: 12, abandoned: 1, orders: 100, abandonedOrders: 30, recoveryMs: 0, durationMs: 1, swept: true, broken: 0 },
  ...changes,
});

test('only a run of the same product and harness that broke nothing, and whose sweep was checked, counts as passed', () => {
  const unswept = run();
  delete unswept.swept;
  const runs = [run(), run({ product: 'old' }), run({ harness: 1 }), run({ broken: 1 }), unswept];
  expect(passedRuns(runs, VERSION)).toEqual([runs[0]]);
});

test('a repeated run replaces one that broke nothing, and keeps those that failed and those of other versions', () => {
  const kept = [run({ broken: 1 }), run({ product: 'old' }), run({ seed: 2 })];
  expect(addRun([...kept, run()], run({ orders: 200 }))).toEqual([...kept, run({ orders: 200 })]);
  expect(addRun([run()], run({ broken: 1 }))).toEqual([run({ broken: 1 })]);
});

test('a later line of the results replaces an earlier one of the same run, and an unfinished last line is left out', () => {
  const lines = [run(), run({ seed: 2 }), run({ orders: 200 })].map((one) => JSON.stringify(one));
  expect(parseResults(`${lines.join('\n')}\n{"cell":"SIGK`)).toEqual([run({ seed: 2 }), run({ orders: 200 })]);
  expect(parseResults('')).toEqual([]);
});

test('the tables have the seeds and orders that this version passed, the range of commits, and each failed run with its cause', () => {
  const failed = run({ broken: 1, faults: ['lost | doubled'], cause: 'a bug' });
  const later = run({ seed: 2, at: '2026-11-24T10:00Z', commit: 'c2', broken: 2, faults: ['late', 'stuck'] });
  const text = tablesOf([run({ product: 'old' }), failed, run(), later], VERSION);
  expect(text).toContain(
    '| SIGKILL a worker | 1 | 100 | 30 | 0.0 / 0.0 | 2 | 2 | 2026-11-23 to 2026-11-24 | c1 to c2 |\n',
  );
  expect(text).toContain('| new | 2 | 0 | 1 | 100 | 30 | 2026-11-23 | c1 |\n');
  expect(text).toContain('| SIGKILL a worker, seed 1 | 2026-11-23T10:00Z | c1 | 1: lost \\| doubled | a bug |');
  expect(text).toContain('| SIGKILL a worker, seed 2 | 2026-11-24T10:00Z | c2 | 2: late; stuck | **not known yet** |');
});

test('the tables keep what each version of product and harness has passed', () => {
  const ten = Array.from({ length: 10 }, (_, index) => run({ product: 'old', seed: index + 1 }));
  expect(tablesOf([...ten, run(), run({ cell: 'a full disk', product: 'old' })], VERSION)).toContain(
    '| old | 2 | 1 | 11 | 1100 | 330 | 2026-11-23 | c1 |\n| new | 2 | 0 | 1 | 100 | 30 | 2026-11-23 | c1 |',
  );
});

test('a fault with line breaks stays in one row of the table', () => {
  const failed = run({ broken: 1, faults: ['fallocate failed:\nNo space left\n'], cause: 'a bug' });
  expect(tablesOf([failed], VERSION)).toContain('| 1: fallocate failed: No space left | a bug |');
});
