import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { type Service, startService } from '../arms/service';
import { closedLoop } from '../load';
import { type Section, sizeOf } from '../section';

const FEW = 200;
/** More than `MAX_CACHED_WORKFLOWS`. */
const TOUCHED = 1000;
const CLIENTS = 8;
const SETTLE_MS = 20_000;
/** The Dockerfile's option, and half of the container's memory for the heap, which Node takes by itself. */
const CONTAINER = ['--max-semi-space-size=16', '--max-old-space-size=1024'];
const LIMIT_MS = 600_000;

export const memory: Section = {
  about:
    `The resident memory of one worker after ${FEW} orders were created and stay open, and after 20,000. The customers of ` +
    `${FEW} and of ${TOUCHED} have begun, more than the worker keeps in its cache. Node has the limits of the image in a container with 2 GB.`,
  async run(bench) {
    const service = await startService(bench.servers, { workerOptions: CONTAINER });
    const many = sizeOf(bench, 20_000, 600);
    const few = await openUntil(service, 0, FEW, FEW);
    const lots = await openUntil(service, FEW, many, sizeOf(bench, TOUCHED, 100));
    const ratio = lots / few;
    return {
      blocks: 1,
      rows: [
        {
          what: `worker memory with ${many.toLocaleString('en-GB')} open orders`,
          against: `with ${FEW}`,
          unit: 'MB' as const,
          ours: lots,
          theirs: few,
          ratio: { median: ratio, low: ratio, high: ratio },
          goal: { of: 'ratio' as const, atMost: 1.3 },
        },
      ],
    };
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
