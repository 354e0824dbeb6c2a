import escapeHtml from 'escape-html';

/** Trusted markup. Text from outside becomes markup only through the `html` tag, which escapes it. */
export class Html {
  constructor(readonly text: string) {}
}

type Part = Html | readonly Part[] | string | number | false | null | undefined;

/**
 * Escapes every interpolated value except markup. Lists are joined; `false`, `null` and `undefined` render nothing.
 * Quote attribute values.
 */
export function html(strings: TemplateStringsArray, ...parts: Part[]): Html {
  return new Html(strings.reduce((text, string, index) => text + render(parts[index - 1]) + string));
}

/** A term of a list (`dl`) and its value, side by side if there is room. */
export function row(term: Html | string, value: Html | string): Html {
  return html`<div>
    <dt>${term}</dt>
    <dd>${value}</dd>
  </div>`;
}

function render(part: Part): string {
  if (typeof part === 'string' || typeof part === 'number') return escapeHtml(String(part));
  if (part instanceof Html) return part.text;
  return Array.isArray(part) ? part.map(render).join('') : '';
}
