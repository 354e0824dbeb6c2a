import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';
import { freePort } from '../../tools/local-stack/ports';
import { PACKAGE_ROOT } from '../../src/package';
import { shell } from '../clients/shell';
import { until } from '../support/until';

const CACHE = path.join(process.env.XDG_CACHE_HOME ?? path.join(homedir(), '.cache'), 'order-service', 'containers');

/** A copy of the repository whose `docker compose` commands run in a project of their own. */
export interface Project {
  folder: string;
  name: string;
  url: string;
  /** Runs a command in the folder and returns its output. Throws if it fails. */
  run: (command: string) => Promise<string>;
  /** Runs a command, and returns the seconds that it took. */
  time: (command: string) => Promise<number>;
}

interface Container {
  id: string;
  service: string;
  isRunning: boolean;
  isHealthy: boolean;
  startedAt: string;
}

/** Copies the files that git knows. Compose v2 may be a plugin or a program. */
export async function createProject(): Promise<Project> {
  const folder = path.join(mkdtempSync(path.join(tmpdir(), 'containers-')), 'order-service');
  const files = execFileSync('git', ['ls-files', '-z', '-co', '--exclude-standard'], { cwd: PACKAGE_ROOT });
  for (const file of files.toString().split('\0').filter(Boolean)) {
    mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
    cpSync(path.join(PACKAGE_ROOT, file), path.join(folder, file));
  }
  const name = 'order-service-test';
  const [api, temporal, ui] = [await freePort(), await freePort(), await freePort()];
  const env: Record<string, string> = {
    COMPOSE_PROJECT_NAME: name,
    API_PORT: String(api),
    TEMPORAL_PORT: String(temporal),
    TEMPORAL_UI_PORT: String(ui),
    WEBHOOK_ALLOW_PRIVATE: 'true',
    WEBHOOK_ALLOW_PRIVATE_IN_PRODUCTION: 'true',
  };
  if ((await shell('docker compose version')).code !== 0) {
    const plugins = path.join(CACHE, 'docker', 'cli-plugins');
    mkdirSync(plugins, { recursive: true });
    cpSync(path.join(CACHE, 'programs', 'docker-compose'), path.join(plugins, 'docker-compose'));
    env.DOCKER_CONFIG = path.dirname(plugins);
  }
  const run = async (command: string): Promise<string> => {
    const { code, output, stdout } = await shell(command, folder, env);
    if (code !== 0) throw new Error(`${command} failed:\n${output}`);
    return stdout;
  };
  return {
    folder,
    name,
    url: `http://127.0.0.1:${api}`,
    run,
    time: async (command) => {
      const start = performance.now();
      await run(command);
      return (performance.now() - start) / 1000;
    },
  };
}

/** The containers of the services that keep running. */
export async function containersOf({ run, name }: Project): Promise<Container[]> {
  const ids = (await run(`docker ps -aq --filter label=com.docker.compose.project=${name}`)).trim().split('\n');
  const details = JSON.parse(await run(`docker inspect ${ids.join(' ')}`)) as any[];
  return details
    .filter(({ HostConfig }) => HostConfig.RestartPolicy.Name === 'unless-stopped')
    .map(({ Id, State, Config }) => ({
      id: Id,
      service: Config.Labels['com.docker.compose.service'],
      isRunning: State.Running,
      isHealthy: State.Running && (State.Health?.Status ?? 'healthy') === 'healthy',
      startedAt: State.StartedAt,
    }));
}

/**
 * Kills a container as a crash would, and waits until Docker has restarted it and it is healthy. Returns the seconds.
 */
export async function crash(project: Project, { id, service, startedAt }: Container): Promise<number> {
  const start = performance.now();
  process.kill(Number(await project.run(`docker inspect -f '{{.State.Pid}}' ${id}`)), 'SIGKILL');
  const healed = async () => {
    const container = (await containersOf(project)).find((one) => one.id === id);
    return container?.isHealthy && container.startedAt !== startedAt;
  };
  await until(healed, `${service} is healthy again`, 120_000);
  return (performance.now() - start) / 1000;
}
