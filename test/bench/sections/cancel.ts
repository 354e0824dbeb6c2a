import { startBare } from '../arms/bare';
import { expectStatus } from '../arms/http';
import { startService } from '../arms/service';
import { closedLoop } from '../load';
import { type Section, compare, inBlocks, sizeOf } from '../section';
import { median } from '../statistics';

export const cancel: Section = {
  about:
    'One client cancels open orders without a webhook URL, one after the other. The bare arm makes an update that runs one ' +
    'ordinary activity with one statement. The orders and workflows are created, and have come to rest, before.',
  async run(bench) {
    const [service, bare] = await Promise.all([startService(bench.servers), startBare(bench.servers)]);
    const count = sizeOf(bench, 50, 15);
    let orders = 0;
    let workflows = 0;
    const p50 = async <T>(open: () => Promise<T>, rest: () => Promise<void>, call: (opened: T) => Promise<unknown>) => {
      const opened: T[] = [];
      await closedLoop(8, count, async () => void opened.push(await open()));
      await rest();
      return median(await closedLoop(1, count, (index) => call(opened[index]!)));
    };
    const ours = () =>
      p50(
        () => service.create(),
        () => service.allStarted((orders += count)),
        async (id) => expectStatus(await service.cancel(id), 200),
      );
    const values = await inBlocks(bench, {
      service: ours,
      again: ours,
      bare: () =>
        p50(
          () => bare.startSaving(),
          () => bare.allStarted((workflows += count)),
          (handle) => handle.executeUpdate('change', { args: ['UNSUCCESSFUL'] }),
        ),
    });
    const row = { what: 'cancel p50, one client', unit: 'ms' as const };
    const rows = [
      compare(
        { ...row, against: 'bare update with one activity', goal: { of: 'ratio', atMost: 1.2 } },
        values.service,
        values.bare,
      ),
      compare({ ...row, against: 'itself (noise)' }, values.again, values.service),
    ];
    return { blocks: bench.blocks, rows };
  },
};
