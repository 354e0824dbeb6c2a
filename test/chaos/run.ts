import { setTimeout as delay } from 'node:timers/promises';
import { findDeadlock } from '../support/find-deadlock';
import { createSeller } from '../support/stack';
import { type Cell, type Scene, variantOf } from './cell';
import { type Allowances, type Broken, brokenInvariants } from './invariants';
import { type OrderFacts, readFacts, withoutOpenWorkflow } from './facts';
import { acknowledged, createLedger } from './ledger';
import { startLoad } from './load';
import { firstTryShare, MEASURED_MS, rateBetween, recoveryMs } from './recovery';
import { type Replayed, replayRuns } from './replays';
import { lostOf } from './reconcile';
import { seeded } from './seeded';
import type { Shop } from './shopper';
import { type ChaosStack, partsOf } from './stack';

const CHARACTERS = ['steady', 'slow', 'flaky', 'busy'];
/** The load before the fault: the first part warms up, the second is the measure of the throughput. */
const WARM_UP_MS = 1500;
const BASELINE_MS = 3000;
/** Throughput is back within this time after healing. */
const AFTER_MAX_MS = 30_000;
/** Successful calls per customer before the fault, at least. Usually there are about four. */
const LEAST_CALLS = 1.5;
/** The share of creates and GETs that succeed at the first try during a fault that spares the API. The rest allows for overload. */
const FIRST_TRY_SHARE = 0.75;
/** A killed worker's attempt is repeated after 30 s, and the lender or the bank is asked again after up to a minute. */
const QUIET_WITHIN_MS = 150_000;
const POLL_MS = 300;

export interface RunResult {
  seed: number;
  /** Of the cell's `variants`: the one that ran. */
  variant: string | undefined;
  /** Acknowledged orders. */
  orders: number;
  calls: number;
  /** Successful calls per second before the fault. */
  baseline?: number;
  /** From healing until throughput was back; null if it was not within 30 s. Undefined if the cell does not measure it. */
  recoveryMs?: number | null;
  /** From the end of the load until the last customer had left. */
  finishMs?: number;
  /** From then, and the cell's repair, until nothing was left to do. */
  quietMs?: number;
  /** Reading what the stores hold, and then the replays that were left. */
  factsMs?: number;
  replayMs?: number;
  durationMs: number;
  broken: Broken[];
  /** For the report of a failure. */
  facts: ReadonlyMap<string, OrderFacts>;
}

export interface RunOptions {
  seed: number;
  /** Customers per second. */
  rate: number;
  oldRoot: string | undefined;
}

/** Runs a cell once: load, fault, healing, quiet, then every invariant for every order. */
export async function runCell(stack: ChaosStack, cell: Cell, options: RunOptions): Promise<RunResult> {
  const { seed, oldRoot } = options;
  const random = seeded(seed, cell.name);
  const ledger = createLedger();
  const shops = await openShops(stack, cell);
  const memory = new Map<string, unknown>([['startedAt', Date.now()]]);
  const variant = variantOf(cell, seed);
  const scene: Scene = { stack, random, ledger, shops, variant, oldRoot, memory };
  const logStart = stack.receiver.logSize();
  const postgresLogStart = stack.postgres.readLog().length;
  const startedAt = performance.now();
  const { load, baseline, struckAt, healedAt, back } = await strike(cell, scene, options);
  const sellerIds = shops.map(({ id }) => id);
  const lap = stopwatch();
  await load.finish();
  const finishMs = lap();
  await load.cancelOpen();
  await cell.repair?.(scene).catch((error: unknown) => ledger.complaints.push(`the repair: ${String(error)}`));
  const replayed: Replayed = new Map();
  // Most runs are closed by now. What fails here is replayed again at the end.
  const replaying = replayRuns(stack, sellerIds, replayed, { onlyClosed: true }).catch(() => undefined);
  lap();
  const isQuiet = await untilQuiet(stack, sellerIds, lostOf(memory), cell.quietWithinMs);
  const quietMs = lap();
  const own = await cell.verify?.(scene).catch((error: unknown) => [{ orderId: '', fault: String(error) }]);

  const ended = partsOf(stack).filter((part) => part.isFaulty());
  const facts = await readFacts(stack, sellerIds, logStart);
  const factsMs = lap();
  await load.close();
  const spared = typeof cell.spares === 'function' ? cell.spares(scene) : cell.spares;
  const allowed: Allowances = { ...(spared === 'service' && { sparesRuns: true }), ...cell.allowed?.(scene) };
  if (allowed.restored) {
    const lost = ledger.orders.flatMap(({ ids }) => [...ids]).filter((id) => !facts.orders.has(id));
    allowed.untraceable = new Set(await withoutOpenWorkflow(stack, lost));
  }
  const broken = brokenInvariants(ledger, facts, allowed);
  broken.push(...ended.map(({ name }) => ({ orderId: '', fault: `${name} ended by itself, or does not run` })));
  const deadlock = findDeadlock(stack.postgres.readLog().slice(postgresLogStart));
  if (deadlock !== undefined) broken.push({ orderId: '', fault: deadlock });
  lap();
  await replaying;
  await replayRuns(stack, sellerIds, replayed);
  const replayMs = lap();
  broken.push(...[...replayed.values()].flat(), ...(own ?? []));
  const share = firstTryShare(ledger.tries, struckAt, healedAt);
  if (spared && share < FIRST_TRY_SHARE) {
    const fault = `only ${Math.round(100 * share)} % of the creates and GETs during the fault succeeded at the first try`;
    broken.push({ orderId: '', fault });
  }
  if (baseline < LEAST_CALLS * options.rate) {
    broken.push({ orderId: '', fault: `the load never ran: ${baseline.toFixed(1)} calls/s before the fault` });
  }
  if (!isQuiet)
    broken.push({ orderId: '', fault: `stuck: something was left to do after ${Math.round(quietMs / 1000)} s` });
  if (back === undefined) broken.push({ orderId: '', fault: 'throughput was not back within 30 s of healing' });
  return {
    ...{ seed, variant, baseline, facts: facts.orders, broken },
    ...{ finishMs, quietMs, factsMs, replayMs },
    orders: acknowledged(ledger).length,
    calls: ledger.successes.length,
    recoveryMs: back ?? null,
    durationMs: performance.now() - startedAt,
  };
}

/** Returns the time since its last call, in ms. */
function stopwatch(): () => number {
  let last = performance.now();
  return () => {
    const since = last;
    last = performance.now();
    return last - since;
  };
}

/** The load, the fault, and healing until throughput is back. */
async function strike(cell: Cell, scene: Scene, { seed, rate }: RunOptions) {
  const { stack, ledger, shops, random } = scene;
  await cell.prepare?.(scene);
  const { operators = false, restored } = cell.allowed?.(scene) ?? {};
  const load = startLoad({
    ...{ apiUrls: stack.apiUrls, checkoutKey: stack.checkoutKey, shops, ledger, seed, rate },
    usualLenderOutcome: cell.usualLenderOutcome ?? 'approved',
    canVanish: cell.restores ?? false,
    canBeRefused: operators || restored !== undefined,
  });
  await delay(cell.warmUpMs ?? WARM_UP_MS);
  const from = performance.now();
  await delay(BASELINE_MS + random.between(0, 1500));
  const baseline = rateBetween(ledger.successes, from, performance.now());
  const struckAt = performance.now();
  await cell.strike(scene).catch((error: unknown) => ledger.complaints.push(`the fault: ${String(error)}`));
  const healedAt = performance.now();
  const back = await untilRecovered(ledger.successes, baseline, healedAt);
  return { load, baseline, struckAt, healedAt, back };
}

/** A seller for each character of receiver, one without webhooks, one with hosted checkout, and one for each URL of the cell. */
async function openShops(stack: ChaosStack, cell: Cell): Promise<Shop[]> {
  const [toReceiver] = stack.links['worker to receiver'];
  const healthy = CHARACTERS.map((character) => `http://${toReceiver!.address}/${character}`);
  const urls = [...healthy, ...(cell.webhookUrls?.(stack) ?? []), null];
  const open = async (webhookUrl: string | null, isHosted: boolean): Promise<Shop> => {
    const seller = await createSeller(stack.db, undefined, { sandbox: true });
    return { ...seller, webhookUrl, isHosted };
  };
  return Promise.all([...urls.map((url) => open(url, false)), open(`${healthy[0]}/hosted`, true)]);
}

async function untilRecovered(successes: readonly number[], baseline: number, healedAt: number) {
  for (;;) {
    await delay(POLL_MS);
    const now = performance.now();
    const back = recoveryMs(successes, { baseline, healedAt, now });
    if (back !== undefined) return back;
    if (now > healedAt + AFTER_MAX_MS + MEASURED_MS) return undefined;
  }
}

/**
 * Waits until nothing is left to do: no order and no workflow is open, except those of orders that were reported lost. The
 * invariants report what is not so.
 * @returns false if something is left to do after that time
 */
async function untilQuiet(
  { db, client }: ChaosStack,
  sellerIds: readonly string[],
  lost: ReadonlySet<string>,
  withinMs = QUIET_WITHIN_MS,
): Promise<boolean> {
  const running = `ExecutionStatus = 'Running' and SellerId in (${sellerIds.map((id) => `'${id}'`).join(', ')})`;
  return waitUntil(async () => {
    const { rowCount } = await db.query(
      `select from orders o where seller_id = any($1) and (status not in ('SUCCESSFUL', 'UNSUCCESSFUL')
         or exists (select from webhook_event where order_id = o.id and state = 'pending')
         or exists (select from payment where order_id = o.id and closed_at is null)
         or exists (select from start_request where order_id = o.id)) limit 1`,
      [sellerIds],
    );
    if (rowCount !== 0) return false;
    for await (const { workflowId } of client.workflow.list({ query: running })) {
      if (!lost.has(workflowId.slice('order-'.length))) return false;
    }
    return true;
  }, withinMs);
}

/**
 * A connection of before the fault may be broken: errors are ignored.
 * @returns false if it is not done in time
 */
async function waitUntil(isDone: () => Promise<boolean>, withinMs: number): Promise<boolean> {
  const deadline = performance.now() + withinMs;
  while (performance.now() < deadline) {
    if (await isDone().catch(() => false)) return true;
    await delay(POLL_MS);
  }
  return false;
}
