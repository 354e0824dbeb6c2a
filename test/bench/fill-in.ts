/** Replaces what is between `<!-- bench:name -->` and `<!-- /bench -->`, for every part that has results. */
export function fillIn(page: string, parts: Record<string, string>): string {
  return page.replace(
    /(<!-- bench:([\w-]+) -->\n)[^]*?(<!-- \/bench -->)/g,
    (whole, start: string, name: string, end: string) =>
      parts[name] === undefined ? whole : `${start}\n${parts[name]}\n\n${end}`,
  );
}
