import type { LookupFunction } from 'node:net';

/** A lookup that returns these lists of addresses in turn, then repeats the last one. */
export function lookupReturning(...results: string[][]): LookupFunction & { calls: number } {
  const lookup = Object.assign(
    ((_name, _options, callback) => {
      const result = results[Math.min(lookup.calls++, results.length - 1)] ?? [];
      const addresses = result.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
      process.nextTick(callback, null, addresses);
    }) satisfies LookupFunction,
    { calls: 0 },
  );
  return lookup;
}
