import escapeHtml from 'escape-html';

/** Text that is markup already: made by the tag below only, so that no text from outside ever is. */
export class Html {
  constructor(readonly text: string) {}
}

type Part = Html | readonly Part[] | string | number | false | null | undefined;

/** A template whose parts are escaped, but for templates themselves and lists of them; attributes stand in quotes. */
export function html(strings: TemplateStringsArray, ...parts: Part[]): Html {
  return new Html(strings.reduce((text, string, index) => text + render(parts[index - 1]) + string));
}

function render(part: Part): string {
  if (part instanceof Html) return part.text;
  if (Array.isArray(part)) return part.map(render).join('');
  return part === undefined || part === null || part === false ? '' : escapeHtml(String(part as string | number));
}
