import type { Command } from 'commander';
import { CHECKOUT_TASK_QUEUE } from '../checkout/temporal/checkout-workflow-client';
import { loadHostedCheckoutConfig } from '../config';
import { VERSION } from '../package';
import { lendersOf } from '../providers';
import { print, wantsJson } from './output';
import type { Services } from './services';
import { type PaymentBacklog, readPaymentBacklog } from '../checkout/db/payments';
import type { Lenders } from '../checkout/lender/lender';
import { countLiveSellers } from '../db/sellers';
import { findWebhooks } from '../db/find-webhooks';
import { originOf } from '../domain/webhook';
import { type Backlog, countOrdersByStatus, readBacklog } from '../db/backlog';
import { schemaVersion, assertSchemaIsCurrent } from '../db/migrations';
import { type Db, assertWritable, serverVersion } from '../db/pool';
import { TASK_QUEUES, countPollers, describeServer, missingSearchAttributes } from '../temporal/server';
import { countStuckRuns } from '../temporal/list-runs';
import { ORDER_RUNS } from '../temporal/order-workflow-client';
import { reasonOf } from './cli-error';

export function addStatusCommand(program: Command, services: Services): void {
  const { db, temporal, env } = services;
  program
    .command('status')
    .description('check every part and the work that waits; exit with 1 if something needs a person')
    .action(async (_options: unknown, command: Command) => {
      const lenders = lendersOf(loadHostedCheckoutConfig(env));
      const queues = lenders.sandbox ? [...TASK_QUEUES, CHECKOUT_TASK_QUEUE] : TASK_QUEUES;
      const [postgres, inTemporal, api, work] = await Promise.all([
        checkPostgres(db),
        checkTemporal(temporal, queues),
        checkApi(env.ORDERS_URL),
        readWork(db, lenders),
      ]);
      const checks = [...postgres, ...inTemporal, api, ...work.checks];
      const needsPerson = checks.some(({ state }) => state === 'failed' || state === 'attention');
      services.foundTrouble = needsPerson;
      const status = needsPerson ? 'needs a person' : 'ok';
      if (wantsJson(command)) await print(command, { status, version: VERSION, checks, ...work.numbers });
      else await print(command, [...checks, { part: 'version', state: 'ok', detail: VERSION }], status);
    });
}

/** `attention`: works, but a person should look. `unknown`: could not be checked. */
type State = 'ok' | 'attention' | 'failed' | 'unknown';

interface Check {
  part: string;
  state: State;
  detail: string;
}

const HTTP_TIMEOUT_MS = 10_000;
const TEMPORAL_TIMEOUT_MS = 10_000;
/** The API or a worker starts a workflow within seconds. */
const WAITING_TOO_LONG_SECONDS = 120;
/** A worker reverses a payment within seconds if the bank is available. */
const REVERSAL_TOO_LONG_SECONDS = 20 * 60;

const of =
  (state: State) =>
  (part: string, detail: string): Check => ({ part, state, detail });
const [ok, attention, failed, unknown] = [of('ok'), of('attention'), of('failed'), of('unknown')];
const failedIf = (isFailed: boolean) => (isFailed ? failed : ok);

/** Runs a check. One that throws has failed. */
async function check(part: string, run: () => Promise<Check>): Promise<Check> {
  // The message of fetch is only `fetch failed`.
  return run().catch((error: unknown) => failed(part, reasonOf((error as Error).cause ?? error)));
}

async function checkPostgres(db: () => Db): Promise<Check[]> {
  return [
    await check('postgres', async () => {
      await assertWritable(db());
      return ok('postgres', `writes work; version ${await serverVersion(db())}`);
    }),
    await check('schema', async () => {
      await assertSchemaIsCurrent(db());
      return ok('schema', await schemaVersion(db()));
    }),
  ];
}

/** @param queues the task queues that a worker has to poll */
export async function checkTemporal(connect: Services['temporal'], queues: readonly string[]): Promise<Check[]> {
  let client: Awaited<ReturnType<typeof connect>>;
  try {
    client = await connect();
  } catch (error) {
    return [failed('temporal', reasonOf(error))];
  }
  const poller = (name: string) =>
    check(`workers ${name}`, async () => {
      const count = await countPollers(client, name);
      return count > 0
        ? ok(`workers ${name}`, String(count))
        : failed(`workers ${name}`, 'no worker polls the task queue');
    });
  const checks = () =>
    Promise.all([
      check('temporal', async () => {
        const { namespace, version } = await describeServer(client);
        return ok('temporal', `namespace ${namespace}; version ${version}`);
      }),
      // Temporal Cloud does not permit the call.
      missingSearchAttributes(client).then(
        (missing) =>
          missing.length === 0
            ? ok('search attributes', 'all exist')
            : failed('search attributes', `create ${missing.join(', ')} (Keyword)`),
        (error: unknown) => unknown('search attributes', reasonOf(error)),
      ),
      ...queues.map(poller),
      check('stuck runs', async () => {
        const count = await countStuckRuns(client, ORDER_RUNS);
        return count === 0 ? ok('stuck runs', 'none') : attention('stuck runs', `${count}: their workflow tasks fail`);
      }),
    ]);
  return client.withDeadline(Date.now() + TEMPORAL_TIMEOUT_MS, checks);
}

/** @param url of the API, without a path; undefined if it is not known */
async function checkApi(url: string | undefined): Promise<Check> {
  if (!url) return unknown('api', 'set ORDERS_URL to check it');
  return check('api', async () => {
    const get = (path: string) => fetch(`${url}/health/${path}`, { signal: AbortSignal.timeout(HTTP_TIMEOUT_MS) });
    const [ready, live] = await Promise.all([get('ready'), get('live')]);
    const { version } = (await live.json()) as { version: string };
    if (!ready.ok) return failed('api', `not ready: ${await ready.text()}`);
    return version === VERSION
      ? ok('api', `version ${version}`)
      : attention('api', `version ${version}; this is ${VERSION}`);
  });
}

/**
 * Reads what waits, in numbers, and checks it.
 * @param lenders of the hosted checkout; `sandbox` is undefined if there is none
 */
export async function readWork(db: () => Db, lenders: Lenders) {
  try {
    const backlog = await readBacklog(db());
    const orders = await countOrdersByStatus(db());
    const payments = lenders.sandbox && (await readPaymentBacklog(db()));
    const checkout = payments ? [checkPayments(payments), checkLender(lenders, await countLiveSellers(db()))] : [];
    return {
      checks: [...checkBacklog(backlog, await failingEndpoints(db())), ...checkout],
      numbers: { backlog: { ...backlog, ...payments }, orders },
    };
  } catch (error) {
    return { checks: [failed('backlog', reasonOf(error))] };
  }
}

/** Names endpoints of the last webhooks that were given up, with their sellers. Without paths: they may be secret. */
async function failingEndpoints(db: Db): Promise<string> {
  const since = new Date(Date.now() - 7 * 86_400_000).toISOString();
  const webhooks = await findWebhooks(db, { state: 'exhausted', since }, 100);
  const names = webhooks.map(({ sellerId, url }) => `${url === null ? 'no URL' : originOf(url)} of seller ${sellerId}`);
  return [...new Set(names)].slice(0, 3).join(', ');
}

function checkBacklog(backlog: Backlog, failing: string): Check[] {
  const { ordersBehind, ordersWaiting, webhooksPending, webhooksExhausted } = backlog;
  const [orderAge, webhookAge] = [backlog.oldestOrderWaitingSeconds, backlog.oldestWebhookPendingSeconds];
  return [
    failedIf(ordersBehind > 0)(
      'restored orders',
      ordersBehind === 0 ? 'none wait' : `${ordersBehind} wait for reconcile`,
    ),
    failedIf(orderAge > WAITING_TOO_LONG_SECONDS)('orders waiting', oldest(ordersWaiting, orderAge)),
    ok('webhooks pending', oldest(webhooksPending, webhookAge)),
    // The endpoint of a seller is the seller's matter.
    ok(
      'webhooks exhausted',
      webhooksExhausted === 0
        ? 'none in 7 days'
        : `${webhooksExhausted} in 7 days, such as to ${failing}: webhooks list --state exhausted`,
    ),
  ];
}

const oldest = (count: number, seconds: number): string =>
  count === 0 ? 'none' : `${count}, the oldest for ${Math.round(seconds)} s`;

const checkPayments = ({ paymentsToReverse, oldestPaymentToReverseSeconds: age }: PaymentBacklog): Check =>
  failedIf(age > REVERSAL_TOO_LONG_SECONDS)('payments to reverse', oldest(paymentsToReverse, age));

/** @param liveAccounts how many are enabled */
function checkLender({ live }: Lenders, liveAccounts: number): Check {
  if (live) return ok('lender', 'connected for live accounts');
  return liveAccounts === 0
    ? ok('lender', 'for sandbox accounts only; there is no live account')
    : attention(
        'lender',
        `none is connected, so ${liveAccounts} live accounts cannot create orders: set \`live\` in src/providers.ts`,
      );
}
