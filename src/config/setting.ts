import { z } from 'zod';
import { isThisMachine } from '../domain/web-url';

export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** Gives a schema the environment variable it is read from, and its line in docs/operators/settings.md. */
export const setting = <T extends z.ZodType>(env: string, schema: T, description: string): T =>
  schema.meta({ env, description });

export function integer(min: number, max: number, unit?: string) {
  const error = `must be a whole number from ${min} to ${max}`;
  return z.coerce.number({ error }).int(error).min(min, error).max(max, error).meta({ unit });
}

/** A duration in milliseconds. */
export const milliseconds = (min: number, max: number) => integer(min, max, 'ms');

/** A time in days. */
export const days = () => integer(1, 36_600, 'days');

export const port = () => integer(0, 65_535);

export const choice = <const T extends readonly string[]>(...values: T) =>
  z.enum(values, { error: `must be one of ${values.join(', ')}` });

export const httpUrl = () => z.url({ protocol: /^https?$/, error: 'must be an http(s) URL', abort: true });

/** An http(s) URL to which paths are appended. */
export const baseUrl = () =>
  httpUrl()
    .regex(/^[^/]+\/\/[^\\/?#@]+(\/[^\\?#]*)?$/, 'must have no user name, query or fragment')
    .transform((url) => new URL(url).href.replace(/\/+$/, ''));

/** True for https, and for http on this machine. */
export function isSafe(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === 'https:' || isThisMachine(hostname);
}

/** `true` or `1` turns it on. Default: false. */
export const flag = () =>
  choice('true', 'false', '1', '0')
    .default('false')
    .transform((value) => value === 'true' || value === '1');
