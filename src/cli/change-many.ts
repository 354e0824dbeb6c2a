import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { type Command, Option } from 'commander';
import { uuid } from './arguments';
import { CliError, UsageError } from './cli-error';
import { requireAccount } from './look-up';
import type { Services } from './services';

/** The options of a command that changes what a filter selects. */
export interface ManyOptions {
  seller?: string;
  allSellers?: true;
  yes?: true;
}

export function addManyOptions(command: Command, what: string): Command {
  return command
    .option('--seller <seller-id>', `${what} of this seller; a filter requires this option or --all-sellers`, uuid)
    .addOption(new Option('--all-sellers', `${what} of all sellers`).conflicts('seller'))
    .option('--yes', 'do not ask whether to change what a filter or a reference selects');
}

/**
 * Returns the name of the seller whose orders or webhooks are selected, for a question.
 * @throws UsageError unless the options name a seller, or all
 */
export async function requireScope(services: Services, { seller, allSellers }: ManyOptions): Promise<string> {
  if (seller !== undefined) return (await requireAccount(services, seller)).name;
  if (allSellers) return 'all sellers';
  throw new UsageError('a filter requires --seller <seller-id> or --all-sellers');
}

/** Asks a question, unless `--yes` was given. @throws CliError unless the answer is yes */
export async function confirm({ input }: Services, question: string, { yes }: ManyOptions): Promise<void> {
  if (yes) return;
  const lines = createInterface({ input, output: process.stderr });
  const answered = once(lines, 'line') as Promise<[string]>;
  const ended = once(lines, 'close').then((): [string] => ['']);
  lines.setPrompt(`${question} [y/N] `);
  lines.prompt();
  const [answer] = await Promise.race([answered, ended]);
  lines.close();
  if (!process.stdin.isTTY) process.stderr.write('\n');
  if (!/^y(es)?$/i.test(answer.trim())) throw new CliError('nothing was changed: answer y, or pass --yes');
}
