import { setTimeout as delay } from 'node:timers/promises';
import type { LenderOutcome } from '../../src/checkout/sandbox/test-customers';
import { Browser, createAgent } from './browser';
import { createCaller, STUCK_AFTER_MS } from './caller';
import { type Intent, checkOut, drawIntent } from './customer';
import { type Ledger, type OrderRecord, seemsOpen } from './ledger';
import { type Seeded, seeded } from './seeded';
import { type Shop, Shopper } from './shopper';

/** Customers leave this long after the load has ended: longer than a page may be stuck. */
const LEAVE_AFTER_MS = 120_000;
/** What the last call about an open order may take on average: a long run leaves thousands. */
const CALL_MS = 50;
/** The customers who are in a shop at the same time, at most: a slow machine gets a smaller load, not a backlog. */
const MAX_RUNNING = 60;
/** Steps of low-discrepancy sequences in [0, 1): one divided by the golden ratio, and by the plastic ratio. */
const STEP = { kind: 0.618_033_988_75, reads: 0.754_877_666_2 };

export interface Load {
  /** Starts no further journeys, and waits for the end of those that run. */
  finish: () => Promise<void>;
  /** Cancels every open order. */
  cancelOpen: () => Promise<void>;
  close: () => Promise<void>;
}

export interface LoadOptions {
  apiUrls: readonly string[];
  checkoutKey: string;
  shops: readonly Shop[];
  ledger: Ledger;
  seed: number;
  /** Customers per second. */
  rate: number;
  /** What the lender does with half of the applications. */
  usualLenderOutcome: LenderOutcome;
  /** True if a restoration can undo what was acknowledged. */
  canVanish: boolean;
  /** True if operators or a restoration change orders too: any change can be refused. */
  canBeRefused: boolean;
}

/** Starts customers' journeys at a fixed rate: creates, reads, lists, progress, cancels and resends of several sellers. */
export function startLoad(options: LoadOptions): Load {
  const { apiUrls, checkoutKey, shops, ledger, seed, rate, canVanish, canBeRefused } = options;
  const caller = createCaller(apiUrls, ledger);
  const shopper = new Shopper(caller, ledger, checkoutKey, canBeRefused, canVanish);
  const browserAgent = createAgent();
  let leaveAt = Infinity;
  const visitPages = (record: OrderRecord, intent: Intent): Promise<void> =>
    checkOut(new Browser(apiUrls, browserAgent), record, intent, {
      ledger,
      deadline: () => leaveAt,
      canVanish,
    });
  const running = new Set<Promise<unknown>>();
  const random = seeded(seed, 'load');
  let isOpen = true;

  /** Begins something at a fixed rate, until the load ends. */
  const begin = async (work: (count: number) => Promise<unknown>): Promise<void> => {
    const startedAt = performance.now();
    for (let count = 0; isOpen; count++) {
      await delay(Math.max(startedAt + (count * 1000) / rate - performance.now(), 0));
      if (running.size >= MAX_RUNNING) continue;
      const one = work(count)
        .catch((error: unknown) => ledger.complaints.push(`a customer failed: ${String(error)}`))
        .finally(() => running.delete(one));
      running.add(one);
    }
  };
  // Any few seconds have about the same mix of shops and journeys. With a random mix, the load can make 40 % more calls
  // before the fault than after it, which looks like lost throughput.
  const [firstShop, firstKind, firstReads] = [random.between(0, shops.length - 1), random.next(), random.next()];
  const beginning = begin((count) => {
    const shop = shops[(firstShop + count) % shops.length]!;
    const journey = {
      kind: (firstKind + count * STEP.kind) % 1,
      reads: (firstReads + count * STEP.reads) % 1 < 0.5,
    };
    return shop.isHosted
      ? travelPages(shopper, shop, random, journey, drawIntent(random, options.usualLenderOutcome), visitPages)
      : travel(shopper, shop, random, journey);
  });
  const giveUpAfter = (ms: number): void => caller.giveUpAt(performance.now() + ms);
  return {
    async finish() {
      isOpen = false;
      await beginning;
      giveUpAfter(STUCK_AFTER_MS);
      leaveAt = performance.now() + LEAVE_AFTER_MS;
      await Promise.all(running);
    },
    async cancelOpen() {
      const queue = ledger.orders.filter((one) => one.ids.size > 0 && seemsOpen(one));
      giveUpAfter(STUCK_AFTER_MS + queue.length * CALL_MS);
      const work = async (): Promise<void> => {
        for (let record = queue.pop(); record; record = queue.pop()) {
          const shop = shops.find(({ id }) => id === record.sellerId)!;
          record.isCleanedUp = true;
          // A payment at the bank can complete the order in the meantime.
          await shopper.cancel(shop, record, shop.isHosted);
        }
      };
      await Promise.all(Array.from({ length: 16 }, work));
    },
    async close() {
      await Promise.all([caller.close(), browserAgent.destroy()]);
    },
  };
}

/** What a customer's number of calls depends on most. */
interface Journey {
  /** Decides how far the customer goes: a number in [0, 1). */
  kind: number;
  /** Whether the shop reads the order, up to three times. */
  reads: boolean;
}

/** One customer's way through the pages of the hosted checkout. */
async function travelPages(
  shopper: Shopper,
  shop: Shop,
  random: Seeded,
  { reads }: Journey,
  intent: Intent,
  visitPages: (record: OrderRecord, intent: Intent) => Promise<void>,
): Promise<void> {
  const amount = random.between(100, 1_000_000) / 100;
  const [comes, cancels] = [0.85, 0.15].map((share) => random.chance(share));
  const cancelAfterMs = random.between(50, 3000);

  const order = await shopper.create(shop, amount);
  if (!order || !comes) return;
  if (!order.payPath) await shopper.read(shop, order);
  await Promise.all([
    visitPages(order, intent),
    cancels && delay(cancelAfterMs).then(() => shopper.cancel(shop, order, true)),
  ]);
  if (reads) await shopper.read(shop, order);
}

/** One customer's way through an order. Everything random is drawn first, so that it depends on the seed alone. */
async function travel(shopper: Shopper, shop: Shop, random: Seeded, { kind, reads }: Journey): Promise<void> {
  const amount = random.between(100, 1_000_000) / 100;
  const copies = random.chance(0.1) ? 2 : 1;
  const withKey = copies > 1 || random.chance(0.8);
  const [lists, resends, repeats] = [0.1, 0.2, 0.1].map((share) => random.chance(share));
  const waits = Array.from({ length: 4 }, () => random.between(50, 600));
  const pause = (): Promise<unknown> => delay(waits.pop() ?? 100);

  const order = await shopper.create(shop, amount, { copies, withKey });
  if (!order) return;
  if (lists) await shopper.list(shop);
  await pause();
  if (reads) await shopper.read(shop, order);
  // A third is left open.
  if (kind < 0.33) return;
  if (kind < 0.5) return shopper.cancel(shop, order);
  if (kind < 0.55) return shopper.progress(order, 'failed');
  await shopper.progress(order, 'signup_started');
  if (repeats) await shopper.progress(order, 'signup_started');
  await pause();
  if (kind < 0.65) return shopper.progress(order, 'declined');
  await shopper.progress(order, 'approved');
  if (reads) await shopper.read(shop, order);
  await pause();
  if (kind < 0.7) return;
  // A customer completes while the shop cancels.
  const cancels = kind < 0.8;
  await Promise.all([shopper.progress(order, 'completed', cancels), cancels && shopper.cancel(shop, order, true)]);
  if (reads) await shopper.read(shop, order);
  if (resends) await shopper.resend(shop);
}
