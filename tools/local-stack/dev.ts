import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { PACKAGE_ROOT } from '../../src/package';
import { runWithServers, type Servers, type Started } from './servers';

/** Milliseconds between two looks at the times of the files. */
const POLL_INTERVAL_MS = 300;

/** `npm run dev`: as `npm start`, but a change of the code rebuilds and restarts all but Postgres and Temporal. */
void runWithServers(async (servers: Servers, started: Started) => {
  const file = pathToFileURL(path.join(PACKAGE_ROOT, 'tools/is-built.mjs')).href;
  const { lastChange } = (await import(file)) as { lastChange: () => number };
  let service = startService(servers);
  started({ stop: () => stopService(service) });
  for (let built = lastChange(); ;) {
    while (lastChange() === built) await delay(POLL_INTERVAL_MS);
    const since = Date.now();
    built = lastChange();
    if (!(await build())) {
      console.log('The build failed. The service of the last build keeps running until the next change.');
      continue;
    }
    await stopService(service);
    service = startService(servers);
    service.once('message', () => console.log(`\nRestarted in ${((Date.now() - since) / 1000).toFixed(1)} s.`));
  }
});

/** In a process group of its own, so that Ctrl-C reaches only this process, which then stops it. */
function startService(servers: Servers): ChildProcess {
  const service = fork(path.join(__dirname, 'service.js'), [JSON.stringify(servers)], { detached: true });
  service.once('exit', (code) => {
    if (code) console.log('The service ended. It starts again after the next change.');
  });
  return service;
}

async function stopService(service: ChildProcess): Promise<void> {
  if (service.exitCode !== null || service.signalCode !== null) return;
  const exited = once(service, 'exit');
  service.kill('SIGTERM');
  await exited;
}

async function build(): Promise<boolean> {
  const [code] = (await once(spawn(process.execPath, ['tools/build.mjs'], { stdio: 'inherit' }), 'exit')) as [number];
  return code === 0;
}
