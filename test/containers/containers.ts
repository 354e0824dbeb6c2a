import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { PACKAGE_ROOT } from '../../tools/package-root';
import { shell } from '../clients/shell';
import { codeBlocks } from '../integration/docs/markdown';
import { type Api, type ApiResponse, apiOf } from '../support/api';
import { until } from '../support/until';
import { type Project, containersOf, crash, createProject } from './compose';
import { type Load, startLoad } from './load';
import { startReceiver } from './receiver';
import { type Numbers, printNumbers, writeTable } from './report';

/**
 * `npm run containers -- [--stand-ins] [--keep]`: runs the commands of docs/containers.md as printed, in a copy of the
 * repository: builds the image, starts all services, creates an account, and upgrades to a next version while calls
 * arrive. Then it crashes each container in turn, and starts everything twice on the kept volumes. Fails if a call fails
 * during the upgrade, or if an order or a webhook is lost. Writes the table in docs/containers.md.
 */
const { values } = parseArgs({
  options: { 'stand-ins': { type: 'boolean', default: false }, keep: { type: 'boolean', default: false } },
});
const NEXT_VERSION = '1.0.1';
/** A change of the schema that the running release does not know. */
const NEXT_MIGRATION = 'alter table orders add column next_version text;\n';

/** The commands of a section of docs/containers.md. */
const commandsOf = (section: string): string =>
  codeBlocks('docs/containers.md', section)
    .filter(({ language }) => language === 'sh')
    .map(({ code }) => code)
    .join('\n');

const step = (title: string): void => console.log(`\n--- ${title}`);

/** Reads `name: value` from the CLI's output. */
const printed = (output: string, name: string): string => new RegExp(`^${name}: +(\\S+)$`, 'm').exec(output)![1]!;

async function createAccounts(project: Project): Promise<{ api: Api; webhookSecret: string }> {
  const output = await project.run(commandsOf('Accounts'));
  const seller = { id: printed(output, 'seller_id'), key: printed(output, 'api_key') };
  const api = apiOf(project.url, seller, printed(output, 'checkout_key'));
  await project.run(`docker compose run --rm cli seller update ${seller.id} --rate-limit 1000000`);
  return { api, webhookSecret: printed(output, 'webhook_secret') };
}

/** Makes the copy a later release: another version, and one more migration. */
function makeNextVersion(folder: string): void {
  const file = path.join(folder, 'package.json');
  writeFileSync(file, readFileSync(file, 'utf8').replace(/"version": "[^"]+"/, `"version": "${NEXT_VERSION}"`));
  writeFileSync(path.join(folder, 'src/db/migrations/9999_next_version.sql'), NEXT_MIGRATION);
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

async function versionOf(api: Api): Promise<string> {
  return (await api.call('GET', '/health/live', { key: null })).body.version;
}

const SIZE = `docker image inspect --format '{{.Size}}'`;
const megabytes = (output: string): number => Math.round(Number(output) / 1e6);

async function main(): Promise<number> {
  if (values['stand-ins']) {
    const { code, output } = await shell(`bash ${path.join(PACKAGE_ROOT, 'test/containers/make-stand-ins.sh')}`);
    if (code !== 0) throw new Error(`no stand-ins:\n${output}`);
  }
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

    step('start everything, as printed in docs/containers.md');
    const startSeconds = await time(commandsOf('Start'));
    const { api, webhookSecret } = await createAccounts(project);
    const receiver = await startReceiver(project, webhookSecret);
    const orders = [await completeOrder(api, receiver.url)];
    await receiver.waitFor(orders);

    step(`upgrade to ${NEXT_VERSION} while calls arrive`);
    const before = await versionOf(api);
    makeNextVersion(project.folder);
    const running = startLoad(api, receiver.url);
    const upgradeSeconds = await time(commandsOf('Upgrade'));
    const load: Load = await running.stop();
    const after = await versionOf(api);
    failures.push(...load.failed);
    if (before === after || after !== NEXT_VERSION) failures.push(`the version went from ${before} to ${after}`);
    await receiver.waitFor(load.orders);
    console.log(`${load.calls} calls, ${load.failed.length} failed, the slowest took ${Math.round(load.slowestMs)} ms`);

    step('crash each container in turn');
    const healing: Record<string, number> = {};
    for (const container of await containersOf(project)) {
      const { id } = (await api.create({ webhook_url: receiver.url })).body.data;
      const seconds = await crash(project, container);
      await succeed(() => api.cancel(id));
      orders.push(id, await completeOrder(api, receiver.url));
      healing[container.service] = seconds;
      console.log(`${container.service}: healthy after ${seconds.toFixed(1)} s`);
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
    const memory = await run(`docker stats --no-stream --format '{{.Name}} {{.MemUsage}}'`);
    console.log(memory);
    // Exits with 1 if an order differs between Postgres and Temporal.
    await run('docker compose run --rm cli reconcile');

    const numbers: Numbers = {
      standIns: (await run(`docker image inspect --format '{{.Config.Labels}}' ${base}`)).includes('stand-in'),
      ...{ imageMb, baseMb, buildSeconds, startSeconds, upgradeSeconds, load, healing, restartSeconds },
    };
    printNumbers(numbers);
    for (const failure of failures) console.log(`failed: ${failure}`);
    if (failures.length === 0) await writeTable(numbers);
  } finally {
    if (values.keep) console.log(`The services run in ${project.folder}`);
    else {
      await run(`docker rm -f ${project.name}-receiver; ${compose} down --volumes --remove-orphans`);
      rmSync(path.dirname(project.folder), { recursive: true });
    }
  }
  return failures.length === 0 ? 0 : 1;
}

void main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);
