import { type Config, loadConfig } from '../../src/config';
import { CONSTANTS } from '../../src/config/constants';

type Changes = { [Name in keyof typeof CONSTANTS]?: Partial<(typeof CONSTANTS)[Name]> };

/** Constants that make tests fast. */
const QUICK: Changes = { background: { intervalMs: 200, startAfterMs: 1000 }, startTimeoutMs: 3000 };

/** Further changes of constants of the service, for the environment of a test's service. */
export const constants = (changes: Changes): { TEST_CONSTANTS: string } => ({
  TEST_CONSTANTS: JSON.stringify({ ...QUICK, ...changes }),
});

/** The configuration of a service in this process. */
export const loadTestConfig = (env: Record<string, string>): Config => changed(loadConfig(env), env.TEST_CONSTANTS);

/** Replaces numbers, and fields of groups. */
function changed<T extends object>(values: T, changes = '{}'): T {
  const entries = Object.entries(JSON.parse(changes) as Record<string, unknown>).map(([name, change]) => [
    name,
    typeof change === 'object' ? { ...values[name as keyof T], ...change } : change,
  ]);
  return { ...values, ...Object.fromEntries(entries) };
}

// `startProcess` preloads this file.
if (require.main === undefined) Object.assign(CONSTANTS, changed(CONSTANTS, process.env.TEST_CONSTANTS));
