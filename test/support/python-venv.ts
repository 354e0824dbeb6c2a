import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';

/**
 * Installs a requirements file into a venv of its own in the user's cache folder, once. Returns the venv's `bin`
 * folder.
 */
export function installRequirements(name: string, requirements: string): string {
  const digest = createHash('sha256').update(readFileSync(requirements)).digest('hex').slice(0, 12);
  const cache = process.env.XDG_CACHE_HOME ?? path.join(homedir(), '.cache');
  const venv = path.join(cache, 'order-service', `${name}-${digest}`);
  const bin = path.join(venv, 'bin');
  const complete = path.join(venv, 'complete');
  if (existsSync(complete)) return bin;
  console.log(`installing ${name} into ${venv}`);
  const run = (command: string, ...args: string[]): boolean =>
    spawnSync(command, args, { stdio: 'inherit' }).status === 0;
  if (!run('python3', '-m', 'venv', '--clear', venv)) throw new Error('python3 with the venv module is required');
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '-r', requirements];
  if (!run(path.join(bin, 'python'), ...pip)) throw new Error(`installing ${name} failed`);
  writeFileSync(complete, '');
  return bin;
}
