/** The characters that begin strings, and that open, separate and close objects and arrays. */
const TOKEN = /["[\]{},]/g;

interface Container {
  /** The latest key of an object, or the latest index of an array. */
  key: PropertyKey;
  /** Undefined for an array. */
  keys: Set<string> | undefined;
  /** True if the next string is a key. */
  awaitsKey: boolean;
}

/**
 * Finds the path of the first key that an object has twice, which JSON.parse hides. Linear, and without recursion, so that no
 * body is expensive.
 * @param text valid JSON
 */
export function findDuplicateKey(text: string): readonly PropertyKey[] | undefined {
  const open: Container[] = [];
  const pattern = new RegExp(TOKEN);
  for (let match = pattern.exec(text); match; match = pattern.exec(text)) {
    const { 0: token, index } = match;
    const current = open.at(-1);
    if (token === '"') pattern.lastIndex = endOfString(text, index);
    if (token === '{') {
      open.push({ key: '', keys: new Set(), awaitsKey: true });
    } else if (token === '[') {
      open.push({ key: 0, keys: undefined, awaitsKey: false });
    } else if (token === '}' || token === ']') {
      open.pop();
    } else if (token === ',' && current) {
      if (current.keys) current.awaitsKey = true;
      else current.key = Number(current.key) + 1;
    } else if (current?.keys && current.awaitsKey) {
      const key = JSON.parse(text.slice(index, pattern.lastIndex)) as string;
      current.key = key;
      current.awaitsKey = false;
      if (current.keys.has(key)) return open.map((container) => container.key);
      current.keys.add(key);
    }
  }
  return undefined;
}

/** A pattern for the whole string would overflow the stack if the string has millions of escapes. */
function endOfString(text: string, start: number): number {
  let index = start + 1;
  while (text[index] !== '"') index += text[index] === '\\' ? 2 : 1;
  return index + 1;
}
