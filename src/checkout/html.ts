import escapeHtml from 'escape-html';

/** Text that is markup already. Nothing from outside becomes that but through the tag below, which escapes it. */
export class Html {
  constructor(readonly text: string) {}
}

type Part = Html | readonly Part[] | string | number | false | null | undefined;

/** A template whose parts are escaped, but for templates themselves and lists of them; attributes stand in quotes. */
export function html(strings: TemplateStringsArray, ...parts: Part[]): Html {
  return new Html(strings.reduce((text, string, index) => text + render(parts[index - 1]) + string));
}

function render(part: Part): string {
  if (typeof part === 'string' || typeof part === 'number') return escapeHtml(String(part));
  if (part instanceof Html) return part.text;
  return Array.isArray(part) ? part.map(render).join('') : '';
}
