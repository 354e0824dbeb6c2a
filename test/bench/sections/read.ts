import { startBare } from '../arms/bare';
import { expectStatus } from '../arms/http';
import { startKoa } from '../arms/koa';
import { startService } from '../arms/service';
import { closedLoop, paced } from '../load';
import { type Section, compare, inBlocks, sizeOf } from '../section';
import { median } from '../statistics';

const PER_SECOND = 20;
const OPEN_ORDERS = 50;

export const read: Section = {
  about:
    `One client reads ${PER_SECOND} open orders a second. The service and the bare arm query the ` +
    "order's workflow; with `If-None-Match` the service answers 304 from the row.",
  async run(bench) {
    const { servers } = bench;
    const [service, bare, koa] = await Promise.all([startService(servers), startBare(servers), startKoa(servers)]);
    const open = async <T>(create: () => Promise<T>): Promise<T[]> => {
      const opened: T[] = [];
      await closedLoop(4, OPEN_ORDERS, async () => void opened.push(await create()));
      return opened;
    };
    const ours = await open(() => service.create());
    const workflows = await open(() => bare.startEmpty());
    const rows = await open(() => koa.create());
    await service.allStarted(OPEN_ORDERS);
    // An order that a customer has touched: its workflow has run.
    for (const id of ours) expectStatus(await service.progress(id, 'signup_started'), 200);
    const etags = await Promise.all(ours.map(async (id) => expectStatus(await service.get(id), 200).etag));
    const count = sizeOf(bench, 80, 20);
    const p50 = async (call: (index: number) => Promise<unknown>): Promise<number> =>
      median(await paced(PER_SECOND, count, (index) => call(index % OPEN_ORDERS)));
    const get = () => p50(async (index) => expectStatus(await service.get(ours[index]!), 200));
    const values = await inBlocks(bench, {
      get,
      again: get,
      query: () => p50((index) => workflows[index]!.query('state')),
      notModified: () => p50(async (index) => expectStatus(await service.get(ours[index]!, etags[index]), 304)),
      select: () => p50(async (index) => expectStatus(await koa.read(rows[index]!), 200)),
    });
    const row = { what: 'GET of an open order p50, paced', unit: 'ms' as const };
    return {
      blocks: bench.blocks,
      rows: [
        compare({ ...row, against: 'bare query', goal: { of: 'ratio', atMost: 1.3 } }, values.get, values.query),
        compare(
          { what: '304 p50, paced', against: 'Koa + one select', unit: 'ms', goal: { of: 'ratio', atMost: 1.3 } },
          values.notModified,
          values.select,
        ),
        compare({ ...row, against: 'itself (noise)' }, values.again, values.get),
      ],
    };
  },
};
