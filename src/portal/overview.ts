import { html, type Html } from '../html/html';
import { formatPence } from '../domain/money';
import type { DayOfOrders, Overview } from '../orders/overview';
import { formatDay, formatDuration } from './format';
import { table } from './layout';

/** Something that a person should look at. */
export interface Attention {
  text: string;
  /** Where, below the seller's pages. */
  path: string;
}

export function overviewPage(base: string, overview: Overview, attention: readonly Attention[]): Html {
  const { created, completed, completedPence, conversion, medianMs } = overview;
  const share = conversion === null ? '–' : `${(100 * conversion).toFixed(1)}%`;
  return html`<section aria-labelledby="attention">
      <h2 id="attention">Needs attention</h2>
      ${
        attention.length === 0
          ? html`<p>Nothing. No webhook has failed.</p>`
          : html`<ul>
              ${attention.map(({ text, path }) => html`<li><a href="${base}${path}">${text}</a></li>`)}
            </ul>`
      }
    </section>
    <section aria-labelledby="days">
      <h2 id="days">The last 30 days</h2>
      <dl class="figures">
        ${figure('Created', String(created))} ${figure('Completed', String(completed))}
        ${figure('Value of completed orders', formatPence(completedPence))}
        ${figure('Conversion', share, 'Created in these days, and completed by now')}
        ${figure('Median time to complete', medianMs === null ? '–' : formatDuration(medianMs))}
      </dl>
      ${chart(overview.days)} ${numbers(overview.days)}
    </section>`;
}

const figure = (name: string, value: string, hint?: string): Html =>
  html`<div>
    <dt>${name}</dt>
    <dd>${value}${hint !== undefined && html`<span class="hint">${hint}</span>`}</dd>
  </div>`;

/** Two bars for each day. Their shapes differ too, because colour must not be the only difference. */
function chart(days: readonly DayOfOrders[]): Html {
  // In the chart's own units: it is stretched to the width of the page.
  const [width, height] = [720, 160];
  const most = Math.max(1, ...days.map(({ created, completed }) => Math.max(created, completed)));
  const step = width / days.length;
  const y = (count: number): number => height * (1 - count / most);
  const bar = (kind: string, index: number, count: number): Html | false => {
    const x = index * step + (kind === 'created' ? step * 0.1 : step * 0.5);
    return (
      count > 0 &&
      html`<rect
        class="${kind}"
        x="${round(x)}"
        y="${round(y(count))}"
        width="${round(step * 0.38)}"
        height="${round(y(0) - y(count))}"
      ></rect>`
    );
  };
  return html`<figure>
    <figcaption>
      <span class="key created"></span> Orders created <span class="key completed"></span> Orders completed, each day.
      Most on one day: ${most}.
    </figcaption>
    <svg viewBox="0 0 ${width} ${height}" preserveAspectRatio="none" role="img" aria-labelledby="chart-title">
      <title id="chart-title">Orders a day: created and completed. The table below has the same numbers.</title>
      ${days.map((day, index) => [bar('created', index, day.created), bar('completed', index, day.completed)])}
    </svg>
    <div class="hint">${[days[0], days.at(-1)].map((day) => day && html`<span>${formatDay(day.day)}</span>`)}</div>
  </figure>`;
}

const round = (value: number): string => value.toFixed(1);

function numbers(days: readonly DayOfOrders[]): Html {
  const rows = [...days].reverse().map((day) => {
    const { created, completed, completedPence } = day;
    return [formatDay(day.day), created, completed, formatPence(completedPence)];
  });
  return html`<details>
    <summary>The numbers as a table</summary>
    ${table('Orders a day', ['Day', '#Created', '#Completed', '#Value'], rows)}
  </details>`;
}
