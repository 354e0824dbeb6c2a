import { spawnSync } from 'node:child_process';

/**
 * Returns the languages whose command works on this machine. The tests of the others are skipped with a message, except
 * on CI, which installs all of them: see .ci/run.
 */
export function installed(
  languages: readonly string[],
  commandOf: (language: string) => [string, ...string[]],
): string[] {
  const isInstalled = (language: string): boolean => {
    const [command, ...args] = commandOf(language);
    return spawnSync(command, args, { stdio: 'ignore' }).status === 0;
  };
  const missing = languages.filter((language) => !isInstalled(language));
  if (missing.length > 0 && process.env.CI) throw new Error(`not installed: ${missing.join(', ')}`);
  if (missing.length > 0) process.stdout.write(`skipped because not installed: ${missing.join(', ')}\n`);
  return languages.filter((language) => !missing.includes(language));
}
