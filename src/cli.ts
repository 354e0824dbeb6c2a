import { randomUUID } from 'node:crypto';
import { Command } from 'commander';
import type { CliTools } from './cli/webhooks';
import { addSecretCommands, addWebhookCommands } from './cli/webhooks';
import { checkRedirectUrl } from './contracts/requests';
import { loadConfig } from './config';
import type { Db } from './db/pool';
import { createPool, inTransaction } from './db/pool';
import { createCheckoutKey, createSellerKey, insertSeller, insertWebhookSecret } from './db/sellers';
import { generateWebhookSecret } from './webhooks/sign';

/** `npm run cli -- …`: what operators do from a shell. Answers are JSON, so that scripts can read them. */
const program = new Command('order-service').description('Accounts and keys of the order service').showHelpAfterError();

program
  .command('seller')
  .description('accounts of sellers')
  .command('create')
  .description('makes a seller with an API key and a webhook secret, both shown this once')
  .requiredOption('--name <name>', 'company name, shown to customers')
  .option('--redirect-url <url>', 'where customers land after the checkout, unless the order says otherwise')
  .action(async (options: { name: string; redirectUrl?: string }) => {
    const config = loadConfig(process.env);
    const { name, redirectUrl = null } = options;
    const wrong = redirectUrl === null ? undefined : checkRedirectUrl(redirectUrl, config.production);
    if (wrong !== undefined) program.error(`error: --redirect-url ${wrong}`);
    const id = randomUUID();
    const webhookSecret = generateWebhookSecret();
    const apiKey = await withDatabase(config.databaseUrl, (db) =>
      inTransaction(db, async (client) => {
        await insertSeller(client, { id, name, defaultRedirectUrl: redirectUrl });
        await insertWebhookSecret(client, id, webhookSecret);
        return createSellerKey(client, id);
      }),
    );
    print({ seller_id: id, api_key: apiKey, webhook_secret: webhookSecret });
  });

program
  .command('checkout-key')
  .description('keys of the checkout flow')
  .command('create')
  .description('makes a key that may report the progress of every order, shown this once')
  .action(async () => {
    print({ checkout_key: await withDatabase(loadConfig(process.env).databaseUrl, createCheckoutKey) });
  });

async function withDatabase<T>(url: string, work: (db: Db) => Promise<T>): Promise<T> {
  const db = createPool(url, 1, () => undefined);
  try {
    return await work(db);
  } finally {
    await db.end();
  }
}

function print(answer: unknown): void {
  console.log(JSON.stringify(answer, null, 2));
}

const tools: CliTools = {
  withDatabase: (work) => withDatabase(loadConfig(process.env).databaseUrl, work),
  print,
  fail: (message) => program.error(`error: ${message}`),
};
addWebhookCommands(program, tools);
addSecretCommands(program, tools);

program.parseAsync().catch((error: unknown) => {
  program.error(`error: ${error instanceof Error ? error.message : String(error)}`);
});
