import { startBare } from '../arms/bare';
import { startService } from '../arms/service';
import { closedLoop } from '../load';
import { type Section, compare, inBlocks, sizeOf } from '../section';

const CLIENTS = 16;

export const starts: Section = {
  about:
    `${CLIENTS} clients create orders as fast as they can. The rate counts until Temporal's visibility shows every ` +
    'workflow, for both arms.',
  async run(bench) {
    const [service, bare] = await Promise.all([startService(bench.servers), startBare(bench.servers)]);
    const count = sizeOf(bench, 600, 100);
    const warmUp = sizeOf(bench, 150, 30);
    const arm = (start: () => Promise<unknown>, allStarted: (total: number) => Promise<void>) => {
      let total = 0;
      return async (isWarmUp: boolean): Promise<number> => {
        const size = isWarmUp ? warmUp : count;
        total += size;
        const begun = performance.now();
        await closedLoop(CLIENTS, size, start);
        await allStarted(total);
        return size / ((performance.now() - begun) / 1000);
      };
    };
    const values = await inBlocks(bench, {
      service: arm(() => service.create(), service.allStarted),
      bare: arm(() => bare.startEmpty(), bare.allStarted),
    });
    const row = { what: 'creates until every workflow exists', unit: '/s' as const };
    const rows = [
      // Without a goal: starts give way to changes.
      compare({ ...row, against: 'bare `workflow.start`' }, values.service, values.bare),
    ];
    return { blocks: bench.blocks, rows };
  },
};
