import { startKoa } from '../arms/koa';
import { startService } from '../arms/service';
import { paced } from '../load';
import { type Section, compare, inBlocks, sizeOf } from '../section';
import { median } from '../statistics';

const PER_SECOND = 20;

export const create: Section = {
  about:
    `One client creates ${PER_SECOND} orders a second, and the p50 of the answer is taken. The floor is the sum of what ` +
    'no API can avoid: one commit of one insert into Postgres, and one answer of Koa without Postgres.',
  async run(bench) {
    const { servers } = bench;
    const [service, koa] = await Promise.all([startService(servers), startKoa(servers)]);
    const count = sizeOf(bench, 60, 20);
    const p50 = async (call: () => Promise<unknown>): Promise<number> => median(await paced(PER_SECOND, count, call));
    const commit = (): Promise<unknown> =>
      service.db.query('insert into bench_commit (reference) values ($1)', ['a reference']);
    await service.db.query(
      'create table bench_commit (id bigint generated always as identity primary key, reference text)',
    );
    const values = await inBlocks(bench, {
      service: () => p50(() => service.create()),
      again: () => p50(() => service.create()),
      commit: () => p50(commit),
      http: () => p50(() => koa.bare()),
      koa: () => p50(() => koa.create()),
    });
    const floor = values.commit.map((ms, block) => ms + values.http[block]!);
    const row = { what: 'create p50, paced', unit: 'ms' as const };
    const rows = [
      compare(
        { ...row, against: 'one commit + one bare HTTP answer', goal: { of: 'ratio', atMost: 1.5 } },
        values.service,
        floor,
      ),
      compare({ ...row, against: 'Koa + one insert' }, values.service, values.koa),
      compare({ ...row, against: 'itself (noise)' }, values.again, values.service),
    ];
    return { blocks: bench.blocks, rows };
  },
};
