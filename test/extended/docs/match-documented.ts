/** Values that differ in each run, and their placeholders. */
const VOLATILE: [pattern: RegExp, name: string][] = [
  [/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<uuid>'],
  [/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>'],
  [/\b(sk|ck)_[\w-]+…?/g, '<key>'],
];

/** Replaces the volatile parts of a text or JSON value by placeholders, and durations by 0. */
export function normalize(value: unknown): unknown {
  if (typeof value === 'string') {
    return VOLATILE.reduce((text, [pattern, name]) => text.replace(pattern, name), value);
  }
  if (Array.isArray(value)) return value.map(normalize);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, child]) => [key, key.endsWith('_ms') ? 0 : normalize(child)]),
  );
}

/** Returns a Jest matcher for a documented response, in which `…` matches any text. */
export function matcherFor(value: unknown): unknown {
  if (typeof value === 'string') {
    const text = normalize(value) as string;
    if (!text.includes('…')) return text;
    const escaped = text.split('…').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
    return expect.stringMatching(new RegExp(`^${escaped.join('.*')}$`, 's'));
  }
  if (Array.isArray(value)) return value.map(matcherFor);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, child]) => [key, key.endsWith('_ms') ? 0 : matcherFor(child)]),
  );
}
