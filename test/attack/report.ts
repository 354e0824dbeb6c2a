import type { Tally } from './attacker';
import type { Call } from './other-sellers';
import type { Rss } from './target';

/** What one period did to other sellers and to the processes. */
export interface Period {
  name: string;
  calm: Call[];
  calls: Call[];
  tallies: Record<string, Tally>;
  rss: Rss;
  rssAfter: Record<string, number>;
  /** Processes that ended. */
  died: string[];
}

export interface Bounds {
  /** Of the memory of each process, in MB. */
  peakMb: number;
  /** Of the p99 of other sellers, as a multiple of calm. */
  ratio: number;
  /** The share of the other sellers' calls that may get a 503. */
  busyShare: number;
  /** A p99 below this passes whatever the ratio: a few ms of calm vary. */
  alwaysAllowedMs: number;
}

const KINDS = ['create', 'cancel', 'read'] as const;
const SHOWN = ['API', 'worker'];

function percentile(calls: readonly Call[], part: number): number {
  const sorted = calls.map(({ ms }) => ms).sort((a, b) => a - b);
  return Math.round(sorted[Math.ceil(sorted.length * part) - 1] ?? 0);
}

/** The first lines of the table. */
export function headerRows(): string {
  const header = [
    'attack',
    ...KINDS.map((kind) => `${kind} p50 / p99`),
    'calm p99',
    'p99',
    'others refused',
    'others 5xx or no answer',
  ];
  const columns = [...header, ...SHOWN.map((name) => `RSS ${name}`)];
  return `| ${columns.join(' | ')} |\n|---|${'--:|'.repeat(columns.length - 1)}`;
}

export function rowOf({ name, calm, calls, rss, rssAfter, died }: Period): string {
  const cells = [
    died.length > 0 ? `${name} (**ended: ${died.join(', ')}**)` : name,
    ...KINDS.map((kind) => {
      const ofKind = calls.filter((call) => call.kind === kind);
      return `${percentile(ofKind, 0.5)} / ${percentile(ofKind, 0.99)}`;
    }),
    percentile(calm, 0.99),
    percentile(calls, 0.99),
    refused(calls).length,
    countsOf(calls.filter(({ status }) => status >= 500 || status === 0)),
    ...SHOWN.map((process) => `${rss[process]?.before} / ${rss[process]?.peak} / ${rssAfter[process] || '–'}`),
  ];
  return `| ${cells.join(' | ')} |`;
}

/** What the attackers got. */
export function attackersLine({ name, tallies }: Period): string {
  const results = Object.entries(tallies).map(
    ([attack, tally]) => (attack === name ? '' : `${attack}: `) + entriesOf(tally),
  );
  return `${name}: ${results.join('; ')}`;
}

/** Returns what is not acceptable: of every period, or with the bounds of the short form. */
export function failuresOf({ name, calm, calls, tallies, rss, died }: Period, bounds: Bounds): string[] {
  const p99 = percentile(calls, 0.99);
  const limit = Math.max(percentile(calm, 0.99) * bounds.ratio, bounds.alwaysAllowedMs);
  const errors = calls.filter(({ status }) => status === 0 || (status >= 500 && status !== 503));
  const busy = calls.filter(({ status }) => status === 503);
  const failing = KINDS.filter((kind) => !calls.some((call) => call.kind === kind && isSuccess(call)));
  const idle = Object.entries(tallies).filter(([, tally]) => !Object.values(tally).some((count) => count > 0));
  const attackerErrors = Object.values(tallies).flatMap((tally) =>
    Object.entries(tally).filter(([status]) => /^5\d\d$/.test(status) && status !== '503'),
  );
  return [
    ...died.map((process) => `the ${process} process ended`),
    ...Object.entries(rss)
      .filter(([, { peak }]) => peak > bounds.peakMb)
      .map(([process, { peak }]) => `the ${process} process used ${peak} MB, more than ${bounds.peakMb} MB`),
    ...(refused(calls).length > 0 ? [`valid keys of others were refused: ${countsOf(refused(calls))}`] : []),
    ...(errors.length > 0 ? [`others got errors: ${countsOf(errors)}`] : []),
    ...(busy.length > calls.length * bounds.busyShare
      ? [`others got a 503 for ${busy.length} of ${calls.length} calls`]
      : []),
    ...failing.map((kind) => `no ${kind} of others succeeded`),
    ...idle.map(([attack]) => `the attack '${attack}' did nothing`),
    ...attackerErrors.map(([status, count]) => `the attacker got ${count} of status ${status}`),
    ...(p99 > limit ? [`others' p99 was ${p99} ms, more than ${Math.round(limit)} ms`] : []),
  ].map((failure) => `${name}: ${failure}`);
}

const isSuccess = ({ kind, status }: Call): boolean => status === (kind === 'create' ? 201 : 200);

const refused = (calls: readonly Call[]): Call[] => calls.filter(({ status }) => status >= 400 && status < 500);

function countsOf(calls: readonly Call[]): string {
  const counts: Tally = {};
  for (const { status, error = status } of calls) counts[error] = (counts[error] ?? 0) + 1;
  return entriesOf(counts) || '0';
}

const entriesOf = (tally: Tally): string =>
  Object.entries(tally)
    .map(([name, count]) => `${count.toLocaleString('en-GB')} × ${name}`)
    .join(', ');
