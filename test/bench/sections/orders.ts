import { startBare } from '../arms/bare';
import { CHANGES, type OrderArm } from '../arms/order-arm';
import { type Receiver, startReceiver } from '../arms/receiver';
import { startService } from '../arms/service';
import { closedLoop, timed } from '../load';
import { reconcile } from '../reconcile';
import { type Bench, type Row, type Section, type SectionResult, compare, inBlocks, sizeOf } from '../section';
import { median } from '../statistics';

const CLIENTS = 8;

interface Whole {
  perSecond: number;
  changeMs: number;
}

export const orders: Section = {
  about:
    `${CLIENTS} clients each create an order, make its three changes and begin the next one. The rate counts until the ` +
    'last of the three webhooks of every order has arrived. After each block, accepted orders, rows, workflows and ' +
    'delivered webhooks are compared.',
  async run(bench): Promise<SectionResult> {
    const { servers } = bench;
    const receiver = await startReceiver();
    const [service, bare] = await Promise.all([startService(servers), startBare(servers)]);
    const measure = measured(bench, receiver, { full: 64, short: 16 });
    const bareTotals = { orders: 0 };
    const serviceTotals = { orders: 0 };
    const values = await inBlocks(bench, {
      service: measure(service, serviceTotals),
      again: measure(service, serviceTotals),
      ordinary: measure(bare.ordinary, bareTotals),
    });
    const rate = (arm: keyof typeof values) => values[arm].map(({ perSecond }) => perSecond);
    const change = (arm: keyof typeof values) => values[arm].map(({ changeMs }) => changeMs);
    const against = (arm: keyof typeof values, name: string, goal?: Row['goal']) => [
      compare({ what: 'whole orders', against: name, unit: '/s', ...(goal && { goal }) }, rate('service'), rate(arm)),
      compare({ what: 'change p50', against: name, unit: 'ms' }, change('service'), change(arm)),
    ];
    await receiver.stop();
    return {
      blocks: bench.blocks,
      rows: [
        ...against('ordinary', 'bare Temporal, ordinary shape', { of: 'ratio', atLeast: 0.75 }),
        ...against('again', 'itself (noise)'),
      ],
    };
  },
};

/** Returns a function that makes an arm's part of a block. */
function measured(bench: Bench, receiver: Receiver, sizes: { full: number; short: number }) {
  return (arm: OrderArm, totals = { orders: 0 }) =>
    async (isWarmUp: boolean): Promise<Whole> => {
      const count = isWarmUp ? 16 : sizeOf(bench, sizes.full, sizes.short);
      const ids: string[] = [];
      const changes: number[] = [];
      const begun = performance.now();
      await closedLoop(CLIENTS, count, async () => {
        const id = await arm.create(receiver.url);
        ids.push(id);
        for (let version = 1; version <= CHANGES; version++) changes.push(await timed(() => arm.change(id, version)));
      });
      await receiver.allArrived(ids, CHANGES);
      const seconds = (performance.now() - begun) / 1000;
      totals.orders += count;
      await reconcile(arm, totals.orders);
      return { perSecond: count / seconds, changeMs: median(changes) };
    };
}
