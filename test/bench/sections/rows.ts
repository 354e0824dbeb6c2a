import { expectStatus } from '../arms/http';
import { type Service, startService } from '../arms/service';
import { insertClosedOrders } from '../insert-orders';
import { paced } from '../load';
import { p99 } from '../probes';
import { type Section, compare, inBlocks, sizeOf } from '../section';

const PER_SECOND = 20;
const FEW = 200;

export const rows: Section = {
  about:
    `The API with 1,000,000 orders of one seller in Postgres, and with ${FEW}. One client makes ${PER_SECOND} calls a second: ` +
    'reads of closed orders, timelines, the first page of the list, and creates.',
  async run(bench) {
    const many = sizeOf(bench, 1_000_000, 20_000);
    const [large, small] = [await startService(bench.servers), await startService(bench.servers)];
    await insertInParts(large, many);
    await insertInParts(small, FEW);
    const count = sizeOf(bench, 160, 40);
    const arm = async (service: Service) => {
      const { rows: ids } = await service.db.query<{ id: string }>(
        `select id from orders where seller_id = $1 and reference like 'inserted-%' order by id limit ${FEW}`,
        [service.seller.id],
      );
      return async () => {
        const calls = [
          async (id: string) => expectStatus(await service.get(id), 200),
          async (id: string) => expectStatus(await service.timeline(id), 200),
          async () => expectStatus(await service.list(), 200),
          () => service.create(),
        ];
        return p99(
          await paced(PER_SECOND, count, (index) => calls[index % calls.length]!(ids[index % ids.length]!.id)),
        );
      };
    };
    const values = await inBlocks(bench, { large: await arm(large), small: await arm(small) });
    return {
      blocks: bench.blocks,
      rows: [
        compare(
          {
            what: `API p99 with ${many.toLocaleString('en-GB')} rows`,
            against: `with ${FEW}`,
            unit: 'ms',
            goal: { of: 'ratio', atMost: 1.2 },
          },
          values.large,
          values.small,
        ),
      ],
    };
  },
};

const PART = 50_000;

async function insertInParts(service: Service, count: number): Promise<void> {
  for (let rest = count; rest > 0; rest -= PART) {
    await insertClosedOrders(service.db, service.seller.id, Math.min(rest, PART));
  }
}
