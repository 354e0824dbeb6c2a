import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { codeBlocks } from '../extended/docs/markdown-blocks';
import { type Api, type ApiResponse, apiOf } from '../support/api';
import { exitWith } from '../support/exit-with';
import { until } from '../support/until';
import { type Project, containersOf, crash, createProject } from './compose';
import { startLoad } from './load';
import { type ContainerReceiver, startReceiver } from './receiver';

/**
 * `npm run containers -- [--keep]`: runs the commands of docs/operators/compose.md as printed, in a copy of the
 * repository: builds the image, starts all services, creates an account, and upgrades to a next version while calls
 * arrive. It interrupts and repeats another upgrade, scales to two of each, rolls back while calls arrive, and makes
 * Postgres read-only for a while. Then it crashes each container in turn, starts everything twice on the kept volumes,
 * and restores a backup from before the crashes. Fails if a call fails during an upgrade or the rollback, if a webhook is
 * lost, or if the restored service lacks an order of the backup or its last change. Prints what it measured.
 */
const { values } = parseArgs({
  options: { keep: { type: 'boolean', default: false } },
});
const REPAIR = 'docker compose run --rm --no-deps cli reconcile --repair';
const NEXT_VERSION = '1.0.1';
const INTERRUPTED_VERSION = '1.0.2';
/** A change of the schema that the running release does not know. */
const NEXT_MIGRATION = 'alter table orders add column next_version text;\n';

/** The commands of a section of docs/operators/compose.md. */
const commandsOf = (section: string): string =>
  codeBlocks('docs/operators/compose.md', section)
    .filter(({ language }) => language === 'sh')
    .map(({ code }) => code)
    .join('\n');

const step = (title: string): void => console.log(`\n--- ${title}`);

interface Services {
  project: Project;
  api: Api;
  receiver: ContainerReceiver;
  /** What has gone wrong so far. */
  failures: string[];
}

/** Reads `name: value` from the CLI's output. */
const printed = (output: string, name: string): string => new RegExp(`^${name}: +(\\S+)$`, 'm').exec(output)![1]!;

async function createAccounts(project: Project): Promise<{ api: Api; webhookSecret: string }> {
  const output = await project.run(commandsOf('Accounts'));
  const seller = { id: printed(output, 'seller_id'), key: printed(output, 'api_key') };
  const api = apiOf(project.url, seller, printed(output, 'checkout_key'));
  await project.run(`docker compose run --rm --no-deps cli seller update ${seller.id} --rate-limit 1000000`);
  return { api, webhookSecret: printed(output, 'webhook_secret') };
}

function setVersion(folder: string, version: string): void {
  const file = path.join(folder, 'package.json');
  writeFileSync(file, readFileSync(file, 'utf8').replace(/"version": "[^"]+"/, `"version": "${version}"`));
}

/**
 * Runs the commands of a section of docs/operators/compose.md while calls arrive, which must bring every process to `version`.
 */
async function rollOut(
  section: string,
  version: string,
  { project, api, receiver, failures }: Services,
): Promise<{ seconds: number; calls: number; failed: number; slowestMs: number }> {
  setVersion(project.folder, version);
  const running = startLoad(api, receiver.url);
  const seconds = await project.time(commandsOf(section));
  const load = await running.stop();
  failures.push(...load.failed);
  const after = await versionOf(api);
  if (after !== version) failures.push(`after "${section}", the version is ${after}`);
  const images = await project.run(
    `docker inspect --format '{{.Image}}' $(docker compose ps --all --quiet worker api)`,
  );
  const built = await project.run(`docker image inspect --format '{{.Id}}' order-service:local`);
  if (new Set(images.trim().split('\n')).size !== 1 || !images.startsWith(built.trim()))
    failures.push(`after "${section}", containers have another image than ${built}: ${images}`);
  await receiver.waitFor(load.orders);
  return { seconds, calls: load.calls, failed: load.failed.length, slowestMs: load.slowestMs };
}

/** Interrupts a roll-out to `version` while it stops the old worker, which leaves that container stopped. */
async function interruptRollOut({ folder, run }: Project, version: string): Promise<void> {
  setVersion(folder, version);
  const stops = `docker events --filter event=kill --filter label=com.docker.compose.service=worker`;
  await run(
    `sh deploy/roll-out.sh & script=$!
     read -r stop < <(exec ${stops} 2>/dev/null); kill $!
     kill $script
     ! wait $script`,
  );
}

/** Repeats a call until it succeeds, as clients do. */
function succeed(call: () => Promise<ApiResponse>): Promise<ApiResponse> {
  const attempt = () => call().catch(() => undefined);
  return until(
    async () => {
      const response = await attempt();
      return response && response.status < 300 ? response : undefined;
    },
    'the call succeeds',
    90_000,
  );
}

/** Creates and completes an order, and returns its id. */
async function completeOrder(api: Api, webhookUrl: string): Promise<string> {
  const { id } = (await succeed(() => api.create({ webhook_url: webhookUrl }))).body.data;
  for (const event of ['signup_started', 'approved', 'completed']) await succeed(() => api.progress(id, event));
  return id;
}

/** Returns what went wrong. */
async function testReadOnly({ project, api, receiver }: Services, orderId: string): Promise<string[]> {
  const set = (setting: string) =>
    project.run(
      'docker compose exec -T postgres psql --username=orders ' +
        `--command='alter system ${setting}' --command='select pg_reload_conf()'`,
    );
  await set('set default_transaction_read_only = on');
  // The proxy has checked the API several times.
  await delay(5000);
  const read = await api.get(orderId);
  const refused = await api.create();
  await set('reset default_transaction_read_only');
  await completeOrder(api, receiver.url);
  const answers = [read.status, refused.status, refused.headers.get('Retry-After')].join(' ');
  return answers === '200 503 5' ? [] : [`with a read-only Postgres, the answers were ${answers}`];
}

async function versionOf(api: Api): Promise<string> {
  return (await api.call('GET', '/openapi.json', { key: null })).body.info.version;
}

const SIZE = `docker image inspect --format '{{.Size}}'`;
const megabytes = (output: string): number => Math.round(Number(output) / 1e6);

async function main(): Promise<number> {
  const project = await createProject();
  const { run, time } = project;
  const failures: string[] = [];
  // There is no .env yet.
  const compose = 'ORDERS_DB_PASSWORD=x TEMPORAL_DB_PASSWORD=x docker compose';
  await run(`${compose} down --volumes --remove-orphans`);
  try {
    step('build the image');
    const buildSeconds = await time(`${compose} build migrate`);
    const base = /^ARG NODE_IMAGE=(\S+)$/m.exec(readFileSync(path.join(project.folder, 'Dockerfile'), 'utf8'))![1]!;
    const imageMb = megabytes(await run(`${SIZE} order-service:local`));
    const baseMb = megabytes(await run(`${SIZE} ${base}`));

    step('start everything, as printed in docs/operators/compose.md');
    const startSeconds = await time(commandsOf('Start'));
    const { api, webhookSecret } = await createAccounts(project);
    const receiver = await startReceiver(project, webhookSecret);
    const orders = [await completeOrder(api, receiver.url)];
    await receiver.waitFor(orders);

    step(`upgrade to ${NEXT_VERSION} while calls arrive`);
    const services: Services = { project, api, receiver, failures };
    const firstVersion = await versionOf(api);
    writeFileSync(path.join(project.folder, 'src/db/migrations/9999_next_version.sql'), NEXT_MIGRATION);
    const upgrade = await rollOut('Upgrade', NEXT_VERSION, services);

    step(`interrupt an upgrade to ${INTERRUPTED_VERSION}, and repeat it while calls arrive`);
    await interruptRollOut(project, INTERRUPTED_VERSION);
    await rollOut('Upgrade', INTERRUPTED_VERSION, services);

    step('scale to two of each');
    const scaleSeconds = await time(commandsOf('Scale'));
    const count = async () => {
      const running = (await containersOf(project)).filter(({ isHealthy }) => isHealthy);
      return ['api', 'worker'].map((name) => running.filter(({ service }) => service === name).length).join();
    };
    await until(async () => (await count()) === '2,2', 'two of each are healthy', 60_000);

    step(`roll back to ${firstVersion}, whose migrations are the same, while calls arrive`);
    const rollBack = await rollOut('Roll back', firstVersion, services);
    if ((await count()) !== '2,2') failures.push(`after the rollback, ${await count()} containers run`);
    await run(commandsOf('Scale').replaceAll('=2', '=1'));

    step('make Postgres read-only: the proxy still leads to the API');
    failures.push(...(await testReadOnly(services, orders[0]!)));

    step('back up');
    const changedLater: string = (await api.create({ webhook_url: receiver.url })).body.data.id;
    const inBackup = [...orders, changedLater];
    await run(commandsOf('Back up'));
    await succeed(() => api.cancel(changedLater));
    orders.push(changedLater);

    step('crash each container in turn');
    const healing: Record<string, number> = {};
    for (const container of await containersOf(project)) {
      const { id } = (await api.create({ webhook_url: receiver.url })).body.data;
      const seconds = await crash(project, container);
      await succeed(() => api.cancel(id));
      orders.push(id, await completeOrder(api, receiver.url));
      healing[container.service] = seconds;
    }
    await receiver.waitFor(orders);
    const containers = await containersOf(project);
    for (const { service, isHealthy } of containers) if (!isHealthy) failures.push(`${service} is not healthy`);

    step('stop everything and start it again on the kept volumes, twice');
    const restartSeconds: number[] = [];
    for (let round = 0; round < 2; round++) {
      const { id } = (await api.create({ webhook_url: receiver.url })).body.data;
      await run('docker compose stop');
      restartSeconds.push(await time('docker compose up --detach --wait'));
      await succeed(() => api.cancel(id));
      await receiver.restart();
      orders.push(id);
    }
    await receiver.waitFor(orders);

    step('restore the backup, which lacks a change of one order, and the orders after it');
    const [beforeRepair = '', afterRepair = ''] = commandsOf('Restore').split(REPAIR);
    let restoreSeconds = await time(`set -e\n${beforeRepair}`);
    // It exits with 1 as long as it finds differences.
    const isRepaired = () =>
      run(REPAIR).then(
        () => true,
        () => false,
      );
    await until(isRepaired, 'nothing is left to repair', 120_000);
    restoreSeconds += await time(afterRepair);
    const queues = `docker compose exec -T worker sh -c 'echo $WORKER_QUEUES'`;
    if ((await run(queues)).trim() !== 'orders,webhooks,checkout')
      failures.push('after the restore, the worker lacks queues');
    for (const id of inBackup) {
      const { status } = (await succeed(() => api.get(id))).body.data;
      if (!/SUCCESSFUL$/.test(status)) failures.push(`after the restore, the order ${id} is ${status}`);
    }
    await completeOrder(api, receiver.url);

    const memory = await run(`docker stats --no-stream --format '{{.Name}} {{.MemUsage}}'`);
    console.log(memory);
    // Exits with 1 if an order differs between Postgres and Temporal.
    await run('docker compose run --rm --no-deps cli reconcile');

    const times = {
      buildSeconds,
      startSeconds,
      upgrade,
      scaleSeconds,
      rollBack,
      healing,
      restartSeconds,
      restoreSeconds,
    };
    console.log({ imageMb, baseMb, ...times });
    for (const failure of failures) console.log(`failed: ${failure}`);
  } finally {
    if (values.keep) console.log(`The services run in ${project.folder}`);
    else {
      await run(`docker rm -f ${project.name}-receiver; ${compose} down --volumes --remove-orphans`);
      rmSync(path.dirname(project.folder), { recursive: true });
    }
  }
  return failures.length === 0 ? 0 : 1;
}

exitWith(main());
