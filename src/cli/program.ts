import { Command } from 'commander';
import { addCheckoutKeyCommands, addSellerKeyCommands } from './keys';
import { addOrderCommands } from './orders';
import { addReconcileCommand } from './reconcile';
import { addSellerCommands } from './sellers';
import type { Services } from './services';
import { addWebhookCommands } from './webhooks';

/** All commands, a file for each resource. Wrong usage is thrown once it is told, and nothing exits in here. */
export function createProgram(services: Services): Command {
  const program = new Command('order-service')
    .description('What operators do from a shell: accounts, keys, orders, webhooks')
    .option('--json', 'print JSON, for scripts')
    .configureHelp({ showGlobalOptions: true })
    // Suggestions come on a line of their own.
    .configureOutput({ outputError: (text, print) => print(`${text.trim().replace(/\s+/g, ' ')}\n`) })
    .exitOverride();
  addSellerCommands(program, services);
  addSellerKeyCommands(program, services);
  addCheckoutKeyCommands(program, services);
  addOrderCommands(program, services);
  addWebhookCommands(program, services);
  addReconcileCommand(program, services);
  return program;
}
