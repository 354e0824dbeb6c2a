import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { PACKAGE_ROOT } from '../../src/package';
import { freePort } from '../../tools/local-stack/ports';
import { until } from '../support/until';

export interface LoadBalancer {
  port: number;
  stop: () => Promise<void>;
}

/** Starts HAProxy as in `docker-compose.yml`, in front of one API. */
export async function startLoadBalancer(apiPort: number): Promise<LoadBalancer> {
  const port = await freePort();
  const folder = mkdtempSync(path.join(tmpdir(), 'order-service-attack-'));
  const file = path.join(folder, 'haproxy.cfg');
  const deployed = readFileSync(path.join(PACKAGE_ROOT, 'deploy/haproxy.cfg'), 'utf8');
  writeFileSync(file, localConfig(deployed, port, apiPort));
  const child = spawn('haproxy', ['-db', '-f', file], { stdio: ['ignore', 'ignore', 'inherit'] });
  await Promise.race([once(child, 'spawn'), failed(child)]);
  const isUp = async (): Promise<boolean> =>
    fetch(`http://127.0.0.1:${port}/health/live`).then(
      ({ ok }) => ok,
      () => false,
    );
  const ended = once(child, 'exit').then(() => Promise.reject(new Error('HAProxy ended: its output above states why')));
  await Promise.race([until(isUp, 'the load balancer passes on requests'), ended]);
  return {
    port,
    async stop() {
      child.kill('SIGKILL');
      await once(child, 'exit');
      rmSync(folder, { recursive: true });
    },
  };
}

/** The deployed configuration for this machine: without Docker's DNS, and with the limit for the attackers' addresses too. */
function localConfig(deployed: string, port: number, apiPort: number): string {
  return deployed
    .replace(/^(resolvers docker|frontend temporal-ui|backend temporal-ui)\n(?: .*\n)*/gm, '')
    .replace(' !is_private', '')
    .replace('bind :3000', `bind 127.0.0.1:${port}`)
    .replace(/ resolvers docker init-addr none/, '')
    .replace(/server-template api- \d+ api:3000/, `server api 127.0.0.1:${apiPort}`);
}

async function failed(child: ChildProcess): Promise<never> {
  const [error] = (await once(child, 'error')) as [Error];
  throw error;
}
