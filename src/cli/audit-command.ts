import type { Command } from 'commander';
import { listActions } from '../db/operator-actions';
import { integer, printable, timeOption } from './arguments';
import { print } from './output';
import type { Services } from './services';

interface Options {
  by?: string;
  about?: string;
  since?: Date;
  limit: number;
}

export function addAuditCommand(program: Command, { db }: Services): void {
  program
    .command('audit')
    .description('list the commands that changed something and who ran them, newest first')
    .option('--by <operator>', 'only commands of this operator', printable(100))
    .option('--about <text>', 'only commands with this text, such as an id, in their arguments')
    .addOption(timeOption('--since', 'only commands at or after this time'))
    .option('--limit <number>', 'maximum number of commands', integer(1, 10_000), 50)
    .action(async ({ by, limit, ...filter }: Options, command: Command) => {
      const actions = await listActions(db(), { operator: by, ...filter }, limit);
      await print(
        command,
        actions.map((action) => ({
          at: action.at,
          operator: action.operator,
          command: action.command,
          arguments: action.arguments,
          outcome: action.outcome,
          error: action.error,
          action_id: action.id,
        })),
      );
    });
}
