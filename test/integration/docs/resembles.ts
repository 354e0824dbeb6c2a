/** What differs from run to run, each with what stands for it. */
const VOLATILE: [pattern: RegExp, name: string][] = [
  [/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<uuid>'],
  [/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>'],
  [/\b(sk|ck)_[\w-]+…?/g, '<key>'],
];

/** A text or a JSON value with what differs from run to run taken out, and durations with it. */
export function steady(value: unknown): unknown {
  if (typeof value === 'string') {
    return VOLATILE.reduce((text, [pattern, name]) => text.replace(pattern, name), value);
  }
  if (Array.isArray(value)) return value.map(steady);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, child]) => [key, key.endsWith('_ms') ? 0 : steady(child)]),
  );
}

/** What an answer must be like to be the documented one, where `…` stands for any text. */
export function documented(value: unknown): unknown {
  if (typeof value === 'string') {
    const text = steady(value) as string;
    if (!text.includes('…')) return text;
    const escaped = text.split('…').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
    return expect.stringMatching(new RegExp(`^${escaped.join('.*')}$`, 's'));
  }
  if (Array.isArray(value)) return value.map(documented);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, child]) => [key, key.endsWith('_ms') ? 0 : documented(child)]),
  );
}
