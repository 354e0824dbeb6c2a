/**
 * Small plots without a library: text, lines and dots on a white ground, so that they are readable in dark mode too.
 */

const WIDTH = 860;
const ROW = 24;
const LABELS = 400;
const TOP = 44;
const RIGHT = 70;

export interface Mark {
  name: string;
  low: number;
  middle: number;
  high: number;
  met: boolean;
}

/** Intervals on a logarithmic axis with a line at 1. */
export function intervalPlot(title: string, marks: readonly Mark[]): string {
  const values = marks.flatMap(({ low, high }) => [low, high]);
  const [from, to] = [Math.min(0.2, ...values), Math.max(5, ...values)].map(Math.log10) as [number, number];
  const x = (value: number): number => LABELS + ((Math.log10(value) - from) / (to - from)) * (WIDTH - LABELS - RIGHT);
  const height = TOP + marks.length * ROW + 30;
  const ticks = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100].filter(
    (tick) => Math.log10(tick) >= from && Math.log10(tick) <= to,
  );
  const axis = ticks.map(
    (tick) =>
      line(x(tick), TOP - 8, x(tick), height - 24, tick === 1 ? '#333' : '#ddd') +
      label(x(tick), height - 8, `${tick}x`, 'middle'),
  );
  const rows = marks.map(({ name, low, middle, high, met }, index) => {
    const y = TOP + index * ROW + ROW / 2;
    const colour = met ? '#1a7f37' : '#c4320a';
    return (
      label(LABELS - 10, y + 4, name, 'end') + line(x(low), y, x(high), y, colour, 3) + dot(x(middle), y, 5, colour)
    );
  });
  return svg(height, title, [...axis, ...rows]);
}

/** A bar for each median, with a dot for each block. */
export function barPlot(title: string, bars: readonly { name: string; median: number; values: number[] }[]): string {
  const max = Math.max(...bars.flatMap(({ values }) => values));
  const left = 200;
  const x = (value: number): number => left + (value / max) * (WIDTH - left - RIGHT);
  const rows = bars.map(({ name, median, values }, index) => {
    const y = TOP + index * ROW * 1.4;
    return (
      label(left - 10, y + 16, name, 'end') +
      `<rect x="${left}" y="${y}" width="${fixed(x(median) - left)}" height="22" fill="#9ecbff"/>` +
      values.map((value) => dot(x(value), y + 11, 3, '#0550ae')).join('') +
      label(Math.max(...values.map(x)) + 10, y + 16, String(Number(median.toPrecision(3))), 'start')
    );
  });
  return svg(TOP + bars.length * ROW * 1.4 + 12, title, rows);
}

/** Dots on a logarithmic y axis. */
export function scatterPlot(title: string, points: readonly [x: number, y: number][]): string {
  const [left, bottom, height] = [60, 30, 320];
  const maxX = Math.max(...points.map(([value]) => value), 1);
  const top = Math.log10(Math.max(...points.map(([, value]) => value), 1000) * 1.2);
  const x = (value: number): number => left + (value / maxX) * (WIDTH - left - 20);
  const y = (value: number): number =>
    height - bottom - (Math.log10(Math.max(value, 1)) / top) * (height - bottom - TOP);
  const ticks = [1, 10, 100, 1000, 10_000].filter((tick) => Math.log10(tick) <= top);
  const axes = [
    ...ticks.map(
      (tick) => line(left, y(tick), WIDTH - 20, y(tick), '#ddd') + label(left - 8, y(tick) + 4, String(tick), 'end'),
    ),
    ...[0, 0.25, 0.5, 0.75, 1].map((part) =>
      label(x(part * maxX), height - 10, `${Math.round(part * maxX)} s`, 'middle'),
    ),
  ];
  return svg(height, title, [...axes, ...points.map(([at, value]) => dot(x(at), y(value), 2, '#0550ae'))]);
}

/** A line for each series, all from zero on one axis. */
export function linePlot(
  title: string,
  unit: string,
  series: readonly { name: string; points: readonly [x: number, y: number][] }[],
): string {
  const [left, bottom, height, legend] = [60, 30, 340, 150];
  const all = series.flatMap(({ points }) => points);
  const maxX = Math.max(...all.map(([value]) => value), 1);
  const maxY = Math.max(...all.map(([, value]) => value), 1) * 1.1;
  const right = WIDTH - legend;
  const x = (value: number): number => left + (value / maxX) * (right - left);
  const y = (value: number): number => height - bottom - (value / maxY) * (height - bottom - TOP);
  const parts = [0, 0.25, 0.5, 0.75, 1].flatMap((part) => [
    line(left, y(part * maxY), right, y(part * maxY), '#ddd'),
    label(left - 8, y(part * maxY) + 4, String(Math.round(part * maxY)), 'end'),
    label(x(part * maxX), height - 10, `${Math.round((part * maxX) / 6) / 10} min`, 'middle'),
  ]);
  const lines = series.map(({ name, points }, index) => {
    const colour = COLOURS[index % COLOURS.length]!;
    const path = points.map(([at, value]) => `${fixed(x(at))},${fixed(y(value))}`).join(' ');
    return (
      `<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="2"/>` +
      dot(right + 14, TOP + index * ROW, 5, colour) +
      label(right + 24, TOP + 4 + index * ROW, name, 'start')
    );
  });
  return svg(height, `${title}, ${unit}`, [...parts, ...lines]);
}

const COLOURS = ['#0550ae', '#c4320a', '#1a7f37', '#8250df', '#bf8700', '#57606a'];

const fixed = (value: number): string => String(Math.round(value * 10) / 10);

const line = (x1: number, y1: number, x2: number, y2: number, colour: string, width = 1): string =>
  `<line x1="${fixed(x1)}" y1="${fixed(y1)}" x2="${fixed(x2)}" y2="${fixed(y2)}" stroke="${colour}" stroke-width="${width}"/>`;

const dot = (x: number, y: number, radius: number, colour: string): string =>
  `<circle cx="${fixed(x)}" cy="${fixed(y)}" r="${radius}" fill="${colour}"/>`;

const label = (x: number, y: number, text: string, anchor: 'start' | 'middle' | 'end'): string =>
  `<text x="${fixed(x)}" y="${fixed(y)}" text-anchor="${anchor}">${escape(text)}</text>`;

const escape = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

function svg(height: number, title: string, parts: readonly string[]): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${fixed(height)}" font-family="sans-serif" font-size="13">`,
    `<title>${escape(title)}</title>`,
    `<rect width="100%" height="100%" fill="#fff"/>`,
    `<text x="12" y="24" font-size="15" font-weight="bold">${escape(title)}</text>`,
    ...parts,
    '</svg>\n',
  ].join('\n');
}
