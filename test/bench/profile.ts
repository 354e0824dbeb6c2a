import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import type { Profiler } from 'node:inspector';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { PACKAGE_ROOT } from '../../src/package';
import { CHANGES } from './arms/order-arm';
import { startReceiver } from './arms/receiver';
import { startService } from './arms/service';
import { closedLoop } from './load';
import { selfTimes } from './self-times';
import type { Servers } from './servers';

const ORDERS = 200;
const WARM_UP = 40;
const CLIENTS = 8;
const TOP = 25;
const WRITE_MS = 3000;
const FOLDER = path.join(PACKAGE_ROOT, '.data/profile');

/**
 * Records CPU profiles of API and worker, with all their threads, during whole orders. Writes them to `.data/profile`,
 * for the profiler of Chromium's developer tools, and prints the functions with the most self time.
 */
export async function profile(servers: Servers): Promise<void> {
  const folder = path.join(FOLDER, new Date().toISOString().replaceAll(':', '-'));
  mkdirSync(folder, { recursive: true });
  const hook = ['--require', path.join(__dirname, 'profile-hook.js')];
  const receiver = await startReceiver();
  const service = await startService(servers, {
    env: { PROFILE_DIR: folder },
    nodeOptions: { api: hook, worker: hook },
  });
  const whole = async (count: number): Promise<void> => {
    const ids: string[] = [];
    await closedLoop(CLIENTS, count, async () => {
      const id = await service.create(receiver.url);
      ids.push(id);
      for (let version = 1; version <= CHANGES; version++) await service.change(id, version);
    });
    await receiver.allArrived(ids, CHANGES);
  };
  await whole(WARM_UP);
  writeFileSync(path.join(folder, 'start'), '');
  const begun = performance.now();
  await whole(ORDERS);
  const seconds = (performance.now() - begun) / 1000;
  writeFileSync(path.join(folder, 'stop'), '');
  await delay(WRITE_MS);
  await Promise.all([service.stop(), receiver.stop()]);
  console.log(`${ORDERS} whole orders in ${seconds.toFixed(1)} s; profiles in ${path.relative(PACKAGE_ROOT, folder)}`);
  for (const file of readdirSync(folder)
    .filter((name) => name.endsWith('.cpuprofile'))
    .sort()) {
    const found = selfTimes(JSON.parse(readFileSync(path.join(folder, file), 'utf8')) as Profiler.Profile);
    console.log(`\n${path.basename(file, '.cpuprofile')}: ${found.busyMs.toFixed(0)} ms busy`);
    for (const { name, ms } of found.functions.slice(0, TOP)) {
      console.log(
        `  ${((100 * ms) / found.busyMs).toFixed(1).padStart(5)} %  ${ms.toFixed(0).padStart(6)} ms  ${name}`,
      );
    }
  }
}
