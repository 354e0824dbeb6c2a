import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startChild, type Child } from './child';
import type { TemporalPrograms } from './find-temporal';
import { innerPorts } from './inner-ports';
import { dynamicConfig, dynamicConfigFile, serverConfig, uiConfig } from './temporal-config';

export type Launch = {
  dataDir: string;
  port: number;
  uiPort: number | undefined;
  namespace: string;
  durable: boolean;
  log: (line: string) => void;
};

export type Launched = {
  server: Child;
  /** The same process as the server, where that is the CLI. */
  ui: Child | undefined;
  /** To be called once the server has answered: a database that never got so far is made anew by the next start. */
  keepData(): void;
};

const DATABASE = 'temporal.db';

export function pidFiles(dataDir: string) {
  return { server: join(dataDir, 'temporal-server.pid'), ui: join(dataDir, 'temporal-ui.pid') };
}

export async function launchTemporal(programs: TemporalPrograms, launch: Launch): Promise<Launched> {
  // CLI and stock server may be of different versions, so neither opens the other's database.
  const dir = join(launch.dataDir, 'cli' in programs ? 'cli' : 'server');
  mkdirSync(dir, { recursive: true });
  const complete = join(dir, 'complete');
  // A schema cut off in the making would be taken for a whole one.
  if (!existsSync(complete)) for (const end of ['', '-wal', '-shm']) rmSync(join(dir, DATABASE + end), { force: true });
  const keepData = () => writeFileSync(complete, '');

  if ('cli' in programs) {
    const server = await launchCli(programs.cli, dir, launch);
    return { server, ui: launch.uiPort === undefined ? undefined : server, keepData };
  }
  const server = await launchServer(programs.server, dir, launch);
  if (programs.ui === undefined || launch.uiPort === undefined) return { server, ui: undefined, keepData };
  try {
    return { server, ui: await launchUi(programs.ui, dir, launch, launch.uiPort), keepData };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

function launchCli(cli: string, dir: string, { dataDir, port, uiPort, durable }: Launch): Promise<Child> {
  const settings = Object.entries(dynamicConfig).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  const args = ['server', 'start-dev', '--ip', '127.0.0.1', '--port', `${port}`, '--log-level', 'error'];
  args.push(...(uiPort === undefined ? ['--headless'] : ['--ui-port', `${uiPort}`]));
  args.push('--db-filename', DATABASE, '--sqlite-pragma', 'journal_mode=wal');
  args.push('--sqlite-pragma', `synchronous=${durable ? 2 : 0}`);
  args.push(...settings.flatMap((setting) => ['--dynamic-config-value', setting]));
  return startServer(cli, args, dir, dataDir);
}

async function launchServer(binary: string, dir: string, launch: Launch): Promise<Child> {
  const { dataDir, port, uiPort, durable, log } = launch;
  const files = { database: DATABASE, dynamicConfig: 'dynamic-config.yaml' };
  writeFileSync(join(dir, files.dynamicConfig), dynamicConfigFile());
  const inner = await innerPorts(dir, DATABASE, [port, uiPort ?? 0], log);
  writeFileSync(join(dir, 'server.yaml'), serverConfig([port, ...inner], files, durable));
  return startServer(binary, ['--config-file', 'server.yaml', '--allow-no-auth', 'start'], dir, dataDir);
}

function startServer(binary: string, args: string[], cwd: string, dataDir: string): Promise<Child> {
  const logFile = join(dataDir, 'temporal-server.log');
  return startChild({ name: 'Temporal', binary, args, cwd, logFile, pidFile: pidFiles(dataDir).server });
}

function launchUi(binary: string, dir: string, { dataDir, port, namespace }: Launch, uiPort: number): Promise<Child> {
  mkdirSync(join(dir, 'ui'), { recursive: true });
  writeFileSync(join(dir, 'ui', 'development.yaml'), uiConfig(port, uiPort, namespace));
  const args = ['--root', dir, '--config', 'ui', '--env', 'development', 'start'];
  const logFile = join(dataDir, 'temporal-ui.log');
  return startChild({ name: 'The Temporal UI', binary, args, cwd: dir, logFile, pidFile: pidFiles(dataDir).ui });
}
