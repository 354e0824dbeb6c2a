import { z } from 'zod';

/**
 * A string whose description names the known values. An `enum` in the document would make generated clients fail at a
 * value that was added later.
 */
export const openEnum = <T extends string>(known: readonly [T, ...T[]], description: string) =>
  z.enum(known).meta({ description, override: { enum: undefined } });

/** The values as text: `` `a`, `b` or `c` ``. */
export function anyOf(values: readonly string[]): string {
  const quoted = values.map((value) => `\`${value}\``);
  return `${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)}`;
}
