/** The characters that begin strings, and that open, separate and close objects and arrays. */
const TOKEN = /["[\]{},]/g;

interface Container {
  start: number;
  /** The latest key of an object, or the latest index of an array. */
  key: PropertyKey;
  /** Undefined for an array. */
  keys: Set<string> | undefined;
  /** True if the next string is a key. */
  awaitsKey: boolean;
}

/**
 * Finds what JSON.parse hides. Linear, and without recursion, so that no body is expensive.
 * @param text valid JSON
 * @param path of an object or array
 * @returns the path of the first duplicate key, and the source text of the value at `path`
 */
export function inspectJson(
  text: string,
  path: readonly PropertyKey[],
): { duplicate: readonly PropertyKey[] | undefined; source: string | undefined } {
  const open: Container[] = [];
  let source: string | undefined;
  const pattern = new RegExp(TOKEN);
  for (let match = pattern.exec(text); match; match = pattern.exec(text)) {
    const { 0: token, index } = match;
    const current = open.at(-1);
    if (token === '"') pattern.lastIndex = endOfString(text, index);
    if (token === '{') {
      open.push({ start: index, key: '', keys: new Set(), awaitsKey: true });
    } else if (token === '[') {
      open.push({ start: index, key: 0, keys: undefined, awaitsKey: false });
    } else if (token === '}' || token === ']') {
      open.pop();
      const isWatched = open.length === path.length && open.every(({ key }, depth) => key === path[depth]);
      if (isWatched && current) source = text.slice(current.start, index + 1);
    } else if (token === ',' && current) {
      if (current.keys) current.awaitsKey = true;
      else current.key = Number(current.key) + 1;
    } else if (current?.keys && current.awaitsKey) {
      const key = JSON.parse(text.slice(index, pattern.lastIndex)) as string;
      current.key = key;
      current.awaitsKey = false;
      if (current.keys.has(key)) return { duplicate: open.map((container) => container.key), source };
      current.keys.add(key);
    }
  }
  return { duplicate: undefined, source };
}

/** A pattern for the whole string would overflow the stack if the string has millions of escapes. */
function endOfString(text: string, start: number): number {
  let index = start + 1;
  while (text[index] !== '"') index += text[index] === '\\' ? 2 : 1;
  return index + 1;
}
