import { type Row, meetsGoal } from './section';

const number = (value: number): string =>
  value >= 100 || Number.isInteger(value)
    ? Math.round(value).toLocaleString('en-GB')
    : String(Number(value.toPrecision(3)));

function valueCell(value: number | undefined, unit: Row['unit']): string {
  return value === undefined ? '' : `${number(value)}${unit === '/s' ? '/s' : unit && ` ${unit}`}`;
}

function ratioCell({ ratio }: Row): string {
  if (!ratio) return '';
  const [median, low, high] = [ratio.median, ratio.low, ratio.high].map((value) => value.toPrecision(3));
  return `${median}x (${low} to ${high})`;
}

function goalCell({ goal, unit }: Row): string {
  if (!goal) return '';
  const bound = goal.atMost ?? goal.atLeast!;
  return `at ${goal.atMost === undefined ? 'least' : 'most'} ${goal.of === 'ratio' ? `${bound}x` : valueCell(bound, unit)}`;
}

function metCell(row: Row): string {
  const met = meetsGoal(row);
  return met === undefined ? '' : met ? 'yes' : '**no**';
}

const HEADER = ['what', 'against', 'this service', 'the other', 'ratio (95 %)', 'goal', 'met'];

const cellsOf = (row: Row): string[] => [
  row.what,
  row.against,
  valueCell(row.ours, row.unit),
  valueCell(row.theirs, row.unit),
  ratioCell(row),
  goalCell(row),
  metCell(row),
];

export function markdownTable(header: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const line = (cells: readonly (string | number)[]): string =>
    `| ${cells.map((cell) => (typeof cell === 'number' ? number(cell) : cell)).join(' | ')} |`;
  return [line(header), `|${'---|'.repeat(header.length)}`, ...rows.map(line)].join('\n');
}

export const rowsTable = (rows: readonly Row[]): string => markdownTable(HEADER, rows.map(cellsOf));

/** For the console. */
export const rowLine = (row: Row): string => cellsOf(row).filter(Boolean).join(' | ');
