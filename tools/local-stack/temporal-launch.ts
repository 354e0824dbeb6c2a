import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startChild, type Child } from './child';
import type { TemporalPrograms } from './find-temporal';
import { internalPorts } from './internal-ports';
import { dynamicConfig, dynamicConfigFile, serverConfig, uiConfig } from './temporal-config';

interface Launch {
  dataDir: string;
  port: number;
  uiPort: number | undefined;
  namespace: string;
  durable: boolean;
  log: (line: string) => void;
}

export interface Launched {
  server: Child;
  /** The server's own process if the server is the CLI. */
  ui: Child | undefined;
  /** Marks the database as complete. Call it when the server has answered; otherwise the next start recreates it. */
  markComplete(): void;
}

const DATABASE = 'temporal.db';

export function pidFiles(dataDir: string) {
  return { server: join(dataDir, 'temporal-server.pid'), ui: join(dataDir, 'temporal-ui.pid') };
}

export async function launchTemporal(programs: TemporalPrograms, launch: Launch): Promise<Launched> {
  // The CLI and the stock server can have different versions, so each has its own database.
  const dir = join(launch.dataDir, 'cli' in programs ? 'cli' : 'server');
  mkdirSync(dir, { recursive: true });
  const complete = join(dir, 'complete');
  // The server would use a partly created schema as if it were complete.
  if (!existsSync(complete))
    for (const suffix of ['', '-wal', '-shm']) rmSync(join(dir, DATABASE + suffix), { force: true });
  const markComplete = () => writeFileSync(complete, '');

  if ('cli' in programs) {
    const server = await launchCli(programs.cli, dir, launch);
    return { server, ui: launch.uiPort === undefined ? undefined : server, markComplete };
  }
  const server = await launchServer(programs.server, dir, launch);
  if (programs.ui === undefined || launch.uiPort === undefined) return { server, ui: undefined, markComplete };
  try {
    return { server, ui: await launchUi(programs.ui, dir, launch, launch.uiPort), markComplete };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

function launchCli(cli: string, dir: string, { dataDir, port, uiPort, durable }: Launch): Promise<Child> {
  const settings = dynamicConfig(durable).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
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
  writeFileSync(join(dir, files.dynamicConfig), dynamicConfigFile(durable));
  const internal = await internalPorts(dir, DATABASE, [port, uiPort ?? 0], log);
  writeFileSync(join(dir, 'server.yaml'), serverConfig([port, ...internal], files, durable));
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
