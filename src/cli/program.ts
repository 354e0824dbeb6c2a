import { Command, Help } from 'commander';
import { escapeControls } from '../domain/text';
import { VERSION } from '../package';
import { printable } from './arguments';
import { addAuditCommand } from './audit-command';
import { addEncryptionCommands } from './encryption-commands';
import { addKeyCommands } from './key-commands';
import { addCustomerCommands } from './erase-commands';
import { addOrderCommands } from './order-commands';
import { addPaymentCommands } from './payment-commands';
import { addReconcileCommand } from './reconcile';
import { addSellerCommands } from './seller-commands';
import type { Services } from './services';
import { addStatusCommand } from './status';
import { addWebhookCommands } from './webhook-commands';

/** The whole CLI. On wrong usage, `--help` and `--version` it throws a CommanderError instead of exiting. */
export function createProgram(services: Services): Command {
  const program = new Command('order-service')
    .description('manage accounts, keys, orders and webhooks of the order service')
    .version(VERSION, '--version', 'print the version')
    .option('--json', 'print JSON, for scripts')
    .configureHelp({
      showGlobalOptions: true,
      optionDescription(option) {
        const description = Help.prototype.optionDescription.call(this, option);
        return option.mandatory ? `${description} (required)` : description;
      },
    })
    // Commander prints its suggestions on a second line.
    .configureOutput({ outputError: (text, print) => print(`${escapeControls(text.trim().replace(/\s+/g, ' '))}\n`) })
    .exitOverride()
    .option(
      '--operator <name>',
      'your name for the audit log; default: ORDER_SERVICE_OPERATOR, or your system user',
      printable(100),
    )
    .hook('preAction', async (_program, command) => {
      // `status` reports it.
      if (command.name() !== 'status') await services.checkSchema();
      await services.audit.begin(command);
    });
  addSellerCommands(program, services);
  addKeyCommands(program, services);
  addOrderCommands(program, services);
  addCustomerCommands(program, services);
  addPaymentCommands(program, services);
  addWebhookCommands(program, services);
  addReconcileCommand(program, services);
  addEncryptionCommands(program, services);
  addStatusCommand(program, services);
  addAuditCommand(program, services);
  return program;
}
