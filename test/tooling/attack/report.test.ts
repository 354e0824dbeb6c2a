import type { Call } from '../../attack/other-sellers';
import { attackersLine, type Bounds, failuresOf, headerRows, type Period, rowOf } from '../../attack/report';

const BOUNDS: Bounds = { peakMb: 768, ratio: 3, alwaysAllowedMs: 100, busyShare: 0.01 };

const callsOf = (kind: Call['kind'], status: number, count: number): Call[] =>
  Array.from({ length: count }, () => ({ kind, status, ms: 10 }));
const successes = [...callsOf('create', 201, 40), ...callsOf('read', 200, 40), ...callsOf('cancel', 200, 20)];

function failuresWith(changes: Partial<Period>): string[] {
  const period = { name: 'lists', calm: successes, calls: successes, tallies: { lists: { '200': 5 } }, died: [] };
  return failuresOf({ ...period, rss: {}, rssAfter: {}, ...changes }, BOUNDS);
}

test('a period in which everything succeeds has no failure', () => {
  expect(failuresWith({})).toEqual([]);
});

test.each<[string, Partial<Period>]>([
  ['others got a 503 for 2 of 102 calls', { calls: [...successes, ...callsOf('read', 503, 2)] }],
  ['no cancel of others succeeded', { calls: successes.filter(({ kind }) => kind !== 'cancel') }],
  ["the attack 'lists' did nothing", { tallies: { lists: {} } }],
])('a failure: %s', (failure, changes) => {
  expect(failuresWith(changes)).toEqual([`lists: ${failure}`]);
});

test('the rows are a table, without what the attackers got', () => {
  const rss = { API: { before: 1, peak: 3 }, worker: { before: 4, peak: 5 } };
  const tallies = { lists: { '200': 5 } };
  const period = { name: 'lists', calm: successes, calls: successes, tallies, rss, rssAfter: { API: 2 }, died: [] };
  const [header, rule, row] = [...headerRows().split('\n'), rowOf(period)].map((line) => line.split('|').length);
  expect([rule, row]).toEqual([header, header]);
  expect(rowOf(period)).toMatch(/^\| lists \| 10 \/ 10 \| .* \| 0 \| 0 \| 1 \/ 3 \/ 2 \| 4 \/ 5 \/ – \|$/);
  expect(attackersLine(period)).toBe('lists: 5 × 200');
});
