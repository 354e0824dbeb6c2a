import type { SectionResult } from './section';
import { markdownTable } from './table';

const RATES = [100, 1000, 10_000];
/** A cluster should not run hotter than this share of its processors. */
const USED = 0.5;
const MONTH_SECONDS = 30 * 86_400;
/**
 * US dollars per million actions on Temporal Cloud, by monthly volume: an assumption, not checked against the price
 * list.
 */
const PRICES: [upToMillions: number, price: number][] = [
  [5, 50],
  [10, 45],
  [20, 40],
  [50, 35],
  [100, 30],
  [Infinity, 25],
];

/** The processors, actions and bytes that rates of orders need, from the measured cost of one order. */
export function planTable({ tables = [] }: SectionResult): string {
  const [counts, cpu] = tables;
  const [, statements, commits, walKiB, rows, events, , actions] = counts!.rows[0] as [string, ...number[]];
  const [, own, postgres, temporal] = cpu!.rows[0] as [string, ...number[]];
  const cores = (ms: number, rate: number): number => Math.ceil((ms / 1000) * rate * (1 / USED));
  const line = (name: string, value: (rate: number) => string | number): (string | number)[] => [
    name,
    ...RATES.map(value),
  ];
  return markdownTable(
    ['for orders per second', ...RATES.map((rate) => rate.toLocaleString('en-GB'))],
    [
      line('cores for API and workers', (rate) => cores(own!, rate)),
      line('cores for Postgres', (rate) => cores(postgres!, rate)),
      line('cores for a Temporal cluster, without its database', (rate) => cores(temporal!, rate)),
      line('SQL statements per second', (rate) => statements! * rate),
      line('commits per second', (rate) => commits! * rate),
      line('WAL, MiB per second', (rate) => (walKiB! / 1024) * rate),
      line('history events per second', (rate) => events! * rate),
      line('Temporal actions per second', (rate) => actions! * rate),
      line('rows per day, millions', (rate) => (rows! * rate * 86_400) / 1e6),
      line('WAL per day, GiB', (rate) => (walKiB! * rate * 86_400) / 2 ** 20),
      line('Temporal Cloud actions per month, millions', (rate) => (actions! * rate * MONTH_SECONDS) / 1e6),
      line('Temporal Cloud per month at the assumed prices, thousand US dollars', (rate) =>
        Math.round(costOf((actions! * rate * MONTH_SECONDS) / 1e6) / 1000),
      ),
    ],
  );
}

function costOf(millions: number): number {
  let cost = 0;
  let from = 0;
  for (const [upTo, price] of PRICES) {
    cost += Math.max(Math.min(millions, upTo) - from, 0) * price;
    from = upTo;
  }
  return cost;
}
