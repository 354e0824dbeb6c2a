/** The column of each field of `T`. A new field of `T` does not compile without one. */
export type Columns<T> = Readonly<Record<keyof T & string, string>>;

/** SQL: `id, seller_id` */
export const namesOf = (columns: Record<string, string>): string => Object.values(columns).join(', ');

/** SQL: `:id, :sellerId` */
export const parametersOf = (columns: Record<string, string>): string =>
  Object.keys(columns)
    .map((field) => `:${field}`)
    .join(', ');

/** SQL: `id as "id", seller_id as "sellerId"` */
export const selectionOf = (columns: Record<string, string>): string =>
  Object.entries(columns)
    .map(([field, column]) => `${column} as "${field}"`)
    .join(', ');

/** SQL: `json_build_object('version', version)` */
export const jsonOf = (columns: Record<string, string>): string =>
  `json_build_object(${Object.entries(columns)
    .map(([field, column]) => `'${field}', ${column}`)
    .join(', ')})`;

/** SQL: a time as ISO 8601 in UTC, as the domain has it. */
export const isoOf = (time: string): string => `to_char(${time} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/**
 * A statement with named parameters: `:amountPence` instead of `$4`.
 * @param values has every parameter; undefined is null
 */
export function statement(
  text: string,
  values: Readonly<Record<string, unknown>>,
): { text: string; values: unknown[] } {
  const parameters: string[] = [];
  // Neither a cast (`::uuid`) nor a part of a format (`HH24:MI`).
  const numbered = text.replace(/(?<![:\w]):([a-z]\w*)/gi, (_, parameter: string) => {
    if (!(parameter in values)) throw new Error(`the parameter :${parameter} has no value`);
    if (!parameters.includes(parameter)) parameters.push(parameter);
    return `$${parameters.indexOf(parameter) + 1}`;
  });
  return { text: numbered, values: parameters.map((parameter) => values[parameter]) };
}
