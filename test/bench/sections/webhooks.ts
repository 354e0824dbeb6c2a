import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { PACKAGE_ROOT } from '../../../src/package';
import type { TestSeller } from '../../support/stack';
import { type Receiver, startReceiver } from '../arms/receiver';
import { type Service, startService } from '../arms/service';
import { insertClosedOrders } from '../insert-orders';
import { closedLoop, paced } from '../load';
import { oldOrders, p50, p99, probe } from '../probes';
import { type Bench, type Section, type SectionResult, compare, sizeOf } from '../section';
import { shuffled } from '../statistics';

const PER_SECOND = 5;
/** Webhooks a second of the seller whose endpoint fails. */
const BAD_PER_SECOND = 5;

interface Beside {
  name: string;
  /** Prepares the bad seller, and returns what it does while the others are measured. */
  prepare: (bad: Bad) => Promise<() => Promise<unknown>>;
}

interface Bad {
  bench: Bench;
  service: Service;
  seller: TestSeller;
  receiver: Receiver;
  seconds: number;
}

const failing = (behaviour: 'hang' | 'refuse') => async (bad: Bad) => {
  const { service, seller, receiver, seconds } = bad;
  const old = await oldOrders(service, seller, receiver.url, BAD_PER_SECOND * (seconds + WARM_UP_SECONDS) + 50);
  receiver.behave(behaviour);
  // What waits when the measurement begins.
  await closedLoop(4, 50, () => service.progress(old.pop()!, 'signup_started'));
  return () => paced(BAD_PER_SECOND, BAD_PER_SECOND * seconds, () => service.progress(old.pop()!, 'signup_started'));
};

const WARM_UP_SECONDS = 2;

const BESIDE: Beside[] = [
  { name: 'alone', prepare: () => Promise.resolve(() => Promise.resolve()) },
  { name: 'one that hangs', prepare: failing('hang') },
  { name: 'one that refuses connections', prepare: failing('refuse') },
  {
    name: 'one with 20,000 resends',
    async prepare({ bench, service, seller, receiver }) {
      await insertClosedOrders(service.db, seller.id, sizeOf(bench, 20_000, 500), receiver.url);
      const args = [path.join(PACKAGE_ROOT, 'dist/src/cli.js'), 'webhooks', 'resend', '--seller', seller.id];
      await promisify(execFile)(process.execPath, [...args, '--state', 'delivered', '--yes'], {
        env: { PATH: process.env.PATH, ...service.env },
      });
      return () => Promise.resolve();
    },
  },
];

export const webhooks: Section = {
  about:
    `A seller's orders get ${PER_SECOND} progress reports a second, and the time from the answer to the webhook's arrival is ` +
    'taken: alone, and beside another seller whose endpoint hangs, or refuses connections, with ' +
    `${BAD_PER_SECOND} webhooks a second, or who has asked for 20,000 resends. Each measurement has a service of its own.`,
  async run(bench): Promise<SectionResult> {
    const values = new Map<string, { p50: number; p99: number }[]>(BESIDE.map(({ name }) => [name, []]));
    const chosen = bench.short ? BESIDE.slice(0, 2) : BESIDE;
    for (let block = 0; block < bench.blocks; block++) {
      for (const beside of shuffled(chosen, bench.random)) values.get(beside.name)!.push(await measure(bench, beside));
    }
    const p99s = (name: string): number[] => values.get(name)!.map((value) => value.p99);
    const alone = p99s('alone');
    const row = { what: "healthy seller's webhook, p99", unit: 'ms' as const };
    return {
      blocks: bench.blocks,
      rows: [
        ...chosen
          .slice(1)
          .map(({ name }) =>
            compare(
              { ...row, what: `${row.what}, beside ${name}`, against: 'alone', goal: { of: 'ratio', atMost: 2 } },
              p99s(name),
              alone,
            ),
          ),
      ],
    };
  },
};

async function measure(bench: Bench, { prepare }: Beside): Promise<{ p50: number; p99: number }> {
  const service = await startService(bench.servers);
  const [good, bad] = await Promise.all([startReceiver(), startReceiver()]);
  const seconds = sizeOf(bench, 10, 5);
  const shop = await service.newSeller();
  const old = await oldOrders(service, shop, good.url, PER_SECOND * (seconds + WARM_UP_SECONDS));
  const load = await prepare({ bench, service, seller: await service.newSeller(), receiver: bad, seconds });
  await probe(service, shop, good, old, { perSecond: PER_SECOND, seconds: WARM_UP_SECONDS });
  const [{ webhook }] = await Promise.all([
    probe(service, shop, good, old, { perSecond: PER_SECOND, seconds }),
    load(),
  ]);
  await Promise.all([service.stop(), good.stop(), bad.stop()]);
  return { p50: p50(webhook), p99: p99(webhook) };
}
