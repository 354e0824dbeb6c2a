import type { Command } from 'commander';
import { listActions } from '../db/operator-actions';
import { integer, printable, timeOption } from './arguments';
import { print } from './output';
import type { Services } from './services';

export function addAuditCommand(program: Command, { db }: Services): void {
  program
    .command('audit')
    .description('list the commands that changed something and who ran them, newest first')
    .option('--by <operator>', 'only commands of this operator', printable(100))
    .addOption(timeOption('--since', 'only commands at or after this time'))
    .option('--limit <number>', 'maximum number of commands', integer(1, 10_000), 50)
    .action(async ({ by, since, limit }: { by?: string; since?: Date; limit: number }, command: Command) => {
      const actions = await listActions(db(), { operator: by, since }, limit);
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
