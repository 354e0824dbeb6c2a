import { InvalidArgumentError, Option } from 'commander';
import type { z } from 'zod';
import { moment, printableText, queryAmount } from '../contracts/fields';
import { isUuid } from '../domain/text';

// Parsers of arguments and options. Commander adds the argument's name to the error that they throw.

export function uuid(value: string): string {
  if (!isUuid(value)) throw new InvalidArgumentError('It must be a UUID.');
  return value.toLowerCase();
}

/** For a variadic argument: Commander calls it once for each value. */
export function uuids(value: string, previous: string[] = []): string[] {
  return [...previous, uuid(value)];
}

export function integer(min: number, max: number) {
  return (value: string): number => {
    const number = /^\d{1,15}$/.test(value) ? Number(value) : NaN;
    if (!(number >= min && number <= max)) {
      throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
    }
    return number;
  };
}

export function hours(max: number) {
  return (value: string): number => {
    const number = /^\d+(\.\d+)?$/.test(value) ? Number(value) : NaN;
    if (!(number <= max)) throw new InvalidArgumentError(`It must be from 0 to ${max} hours.`);
    return number;
  };
}

const KEY_ID = integer(1, Number.MAX_SAFE_INTEGER);

/** Commands take a key's id, not the key itself: shells store their arguments in a history file. */
export function keyId(value: string): number {
  if (/^[sc]k_/.test(value)) throw new InvalidArgumentError('It must be the id of a key, not the key.');
  return KEY_ID(value);
}

/** Shells store arguments: a whole key would stay in the history. */
export function keyBeginning(value: string): string {
  if (/^[\w-]{8,20}$/.test(value)) return value;
  throw new InvalidArgumentError('It must be the first 8 to 20 characters of a key, not the whole key.');
}

export function printable(max: number) {
  const schema = printableText(max);
  return (value: string): string => {
    assertValid(schema, value);
    return value;
  };
}

function time(value: string): Date {
  assertValid(moment, value);
  return new Date(value);
}

/** An amount in pounds; parsed to pence. */
export function amount(value: string): number {
  return assertValid(queryAmount(), value);
}

export function timeOption(flag: `--${string}since` | `--${string}until`, description: string): Option {
  return new Option(`${flag} <time>`, `${description} (a date is its start in UTC)`).argParser(time);
}

/** @throws InvalidArgumentError with the rules that the value breaks */
function assertValid<T extends z.ZodType>(schema: T, value: string): z.infer<T> {
  const { data, error } = schema.safeParse(value);
  if (error) throw new InvalidArgumentError(`It ${error.issues.map(({ message }) => message).join(', ')}.`);
  return data;
}
