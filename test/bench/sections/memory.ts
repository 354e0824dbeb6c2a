import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { type Service, startService } from '../arms/service';
import { closedLoop } from '../load';
import { type Row, type Section, sizeOf } from '../section';

const FEW = 200;
/** Node's heaps have found their sizes: from here on, memory must not grow. */
const STEADY = 5000;
/** Of each step, so that workflows of this many are cached at once. */
const TOUCHED = 1000;
const CLIENTS = 8;
const SETTLE_MS = 20_000;
/** The Dockerfile's options, and half of the container's memory for the heap, which Node takes by itself. */
const CONTAINER = {
  workerOptions: ['--max-semi-space-size=16', '--max-old-space-size=1024'],
  // Without the library on the machine, the dynamic linker says so and goes on.
  env: { LD_PRELOAD: 'libjemalloc.so.2' },
};
const LIMIT_MS = 600_000;

export const memory: Section = {
  about:
    `The resident memory of one worker after ${FEW} orders were created and stay open, after ${STEADY}, and after 20,000. ` +
    `The customers of up to ${TOUCHED} have begun each time. Node has the options of the image, in a container with 2 GB.`,
  async run(bench) {
    const service = await startService(bench.servers, CONTAINER);
    const many = sizeOf(bench, 20_000, 600);
    const steady = sizeOf(bench, STEADY, 400);
    const few = await openUntil(service, 0, FEW, FEW);
    const grown = await openUntil(service, FEW, steady, sizeOf(bench, TOUCHED, 200));
    const lots = await openUntil(service, steady, many, sizeOf(bench, TOUCHED, 200));
    const row = (orders: number, ours: number, others: number, theirs: number, goal?: Row['goal']): Row => ({
      what: `worker memory with ${orders.toLocaleString('en-GB')} open orders`,
      against: `with ${others.toLocaleString('en-GB')}`,
      ...{ unit: 'MB', ours, theirs, ratio: { median: ours / theirs, low: ours / theirs, high: ours / theirs } },
      ...(goal && { goal }),
    });
    const rows = [row(steady, grown, FEW, few), row(many, lots, steady, grown, { of: 'ratio', atMost: 1.3 })];
    return { blocks: 1, rows };
  },
};

/** Creates orders until `to` are open, reports progress on some, and returns the worker's memory at rest in MB. */
async function openUntil(service: Service, from: number, to: number, touched: number): Promise<number> {
  const ids: string[] = [];
  await closedLoop(CLIENTS, to - from, async () => void ids.push(await service.create()));
  await service.allStarted(to, LIMIT_MS);
  // A call that timed out may be repeated.
  const touch = (index: number) => service.change(ids[index]!, 1);
  await closedLoop(CLIENTS, touched, (index) => touch(index).catch(() => touch(index)));
  await delay(SETTLE_MS);
  const status = readFileSync(`/proc/${service.workerPid}/status`, 'utf8');
  return Number(/^VmRSS:\s*(\d+) kB$/m.exec(status)![1]) / 1024;
}
