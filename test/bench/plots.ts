import { type SectionResult, meetsGoal } from './section';
import { type Mark, barPlot, intervalPlot, scatterPlot } from './svg';
import { median } from './statistics';

type Sections = Record<string, SectionResult>;

interface Plot {
  /** In docs/images/. */
  file: string;
  /** The generated part of the page that shows it. */
  part: string;
  alt: string;
  /** Returns nothing if the sections that it shows have no results. */
  draw: (sections: Sections) => string | undefined;
}

export const PLOTS: Plot[] = [
  { part: 'summary', file: 'performance-ratios.svg', alt: 'Every ratio divided by its goal', draw: ratios },
  { part: 'orders', file: 'performance-orders.svg', alt: 'Whole orders per second by arm', draw: ordersPerSecond },
  { part: 'burst', file: 'performance-burst.svg', alt: 'The slowest calls of another seller over time', draw: burst },
];

/** Every ratio that has a goal, divided by the goal: left of the line is met. */
function ratios(sections: Sections): string | undefined {
  const marks = Object.values(sections).flatMap(({ rows }) =>
    rows.flatMap((row): Mark[] => {
      const { ratio, goal, what, against } = row;
      if (!ratio || goal?.of !== 'ratio') return [];
      const { atMost, atLeast } = goal;
      const toGoal = (value: number): number => (atMost === undefined ? atLeast! / value : value / atMost);
      const values = [ratio.low, ratio.median, ratio.high].map(toGoal).sort((a, b) => a - b);
      return [
        { name: `${what} / ${against}`, low: values[0]!, middle: values[1]!, high: values[2]!, met: meetsGoal(row)! },
      ];
    }),
  );
  if (marks.length === 0) return undefined;
  return intervalPlot('Ratios divided by their goals: left of the line, the goal is met', marks);
}

function ordersPerSecond({ orders }: Sections): string | undefined {
  const series = orders?.series;
  if (!series) return undefined;
  const bars = series.map(({ name, points }) => ({ name, values: points.map(([, value]) => value) }));
  return barPlot(
    'Whole orders per second, 8 clients: median and blocks',
    bars.map((bar) => ({ ...bar, median: median(bar.values) })),
  );
}

function burst({ burst: result }: Sections): string | undefined {
  if (!result?.series) return undefined;
  const points = result.series.flatMap((series) => series.points);
  return scatterPlot('Slowest call of another seller, ms, by seconds since the burst of 5,000 creates began', points);
}
