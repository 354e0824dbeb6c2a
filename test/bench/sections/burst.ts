import path from 'node:path';
import { runInChild } from '../../attack/child';
import { startReceiver } from '../arms/receiver';
import { startService } from '../arms/service';
import type { BurstResult } from '../burst-child';
import { type Probes, oldOrders, p50, p99, probe } from '../probes';
import { type Section, type SectionResult, compare, sizeOf } from '../section';
import { median } from '../statistics';

const PER_SECOND = 5;
const CLIENTS = 64;
/** A backlog that takes longer counts as this. */
const DRAIN_LIMIT_MS = 240_000;
const KINDS = ['cancel', 'progress', 'webhook'] as const;
const NAMES = {
  cancel: 'cancel of a fresh order',
  progress: 'progress on an old order',
  webhook: 'webhook of an old order',
};

export const burst: Section = {
  about:
    `One seller creates 5,000 orders with ${CLIENTS} clients from one address. Another seller's calls, from another address, are measured ${PER_SECOND} times a ` +
    'second at rest, and from the beginning of the burst on: creates and cancels of fresh orders, progress on orders that ' +
    'were open before, and the webhooks of that progress.',
  async run(bench): Promise<SectionResult> {
    const service = await startService(bench.servers);
    const receiver = await startReceiver();
    const [shop, bursting] = [await service.newSeller(), await service.newSeller()];
    const count = sizeOf(bench, 5000, 300);
    const restSeconds = sizeOf(bench, 10, 5);
    const burstSeconds = sizeOf(bench, 35, 8);
    const calm: Probes[] = [];
    const busy: Probes[] = [];
    const bursts: BurstResult[] = [];
    const drainSeconds: number[] = [];
    const inBurst = { perSecond: PER_SECOND, seconds: burstSeconds };
    await probe(service, shop, receiver, await oldOrders(service, shop, receiver.url, 20), {
      perSecond: 5,
      seconds: 4,
    });
    for (let block = 0; block < bench.blocks; block++) {
      const old = await oldOrders(service, shop, receiver.url, PER_SECOND * (restSeconds + burstSeconds));
      calm.push(await probe(service, shop, receiver, old, { perSecond: PER_SECOND, seconds: restSeconds }));
      const before = await service.workflows();
      const begun = performance.now();
      const drained = service.allStarted(before + count, DRAIN_LIMIT_MS).then(
        () => (performance.now() - begun) / 1000,
        () => DRAIN_LIMIT_MS / 1000,
      );
      const input = { port: service.port, seller: bursting, count, clients: CLIENTS };
      const [probes, result] = await Promise.all([
        probe(service, shop, receiver, old, inBurst),
        runInChild<BurstResult>(path.join(__dirname, '../burst-child.js'), input),
      ]);
      busy.push(probes);
      bursts.push(result);
      drainSeconds.push(await drained);
    }
    await receiver.stop();
    const during = (kind: (typeof KINDS)[number]) => busy.map((probes) => p99(probes[kind]));
    return {
      blocks: bench.blocks,
      rows: [
        ...KINDS.flatMap((kind) => [
          compare(
            { what: `${NAMES[kind]}, p99`, against: 'at rest', unit: 'ms' },
            during(kind),
            calm.map((probes) => p99(probes[kind])),
          ),
          {
            what: `${NAMES[kind]}, p99`,
            against: '1 s',
            unit: 'ms' as const,
            ours: median(during(kind)),
            goal: { of: 'value' as const, atMost: 1000 },
          },
        ]),
        {
          what: 'cancels and progress reports that got another status than 200',
          against: 'none',
          unit: '',
          ours: busy.reduce((sum, { unavailable }) => sum + unavailable, 0),
          goal: { of: 'value', atMost: 0 },
        },
      ],
      tables: [
        {
          title: 'At rest and during the burst',
          header: ['call', 'rest p50, ms', 'rest p99, ms', 'burst p50, ms', 'burst p99, ms', 'calls'],
          rows: KINDS.map((kind) => {
            const [rest, loaded] = [calm, busy].map((all) => all.flatMap((probes) => probes[kind]));
            return [NAMES[kind], p50(rest!), p99(rest!), p50(loaded!), p99(loaded!), loaded!.length];
          }),
        },
        {
          title: 'The burst',
          header: ['creates/s', 'accepted', 'refused with 503', 'until every workflow exists, s'],
          rows: bursts.map(({ accepted, unavailable, seconds }, block) => [
            ...[accepted / seconds, accepted, unavailable, drainSeconds[block]!],
          ]),
        },
      ],
    };
  },
};
