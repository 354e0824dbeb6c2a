import { setTimeout as delay } from 'node:timers/promises';
import { createCaller } from '../chaos/caller';
import type { Cell, Scene } from '../chaos/cell';
import { acknowledged } from '../chaos/ledger';
import { type Part, restart } from '../chaos/part';
import { repairAll, restoredBetween } from '../chaos/reconcile';
import { Shopper } from '../chaos/shopper';
import { type Phase, tableOf } from './measure';
import { type Cut, CUTS, cut, reconnect, separate, slowDown, speedUp } from './network';
import { type ClusterStack, type Host, partsOfHost } from './stack';

/** How long a fault lasts, and how long the service is watched afterwards. */
const FAULT_MS = 40_000;
const AFTER_MS = 30_000;
/** How long two builds work beside each other. */
const BESIDE_MS = 600_000;
/** Reads are twice as frequent. */
const CREATE_EVERY_MS = 1000;
/** Just started, two hosts on one machine fail the calls of the first seconds. */
const WARM_UP_MS = 15_000;
/** How long a cluster manager takes to promote the replica. */
const PROMOTED_AFTER_MS = 5000;
/** How far the replica is behind when the primary ends. */
const BEHIND_MS = 1500;

/** What a cell does under load, in phases: the first begins with the fault. */
type Steps = (scene: ClusterScene) => { name: string; begin: () => Promise<unknown>; lastsMs?: number }[];
type ClusterScene = Scene & { stack: ClusterStack; host: Host; other: Host };

interface Plan extends Pick<Cell, 'variants' | 'allowed' | 'restores' | 'repair'> {
  name: string;
  steps: Steps;
  isSynchronous?: boolean;
}

export interface ClusterCell extends Cell {
  isSynchronous: boolean;
  /** Of the run that has ended: what callers saw before the fault and in each step. */
  table: () => string;
}

const together = (parts: Part[], action: (part: Part) => Promise<unknown>): Promise<unknown> =>
  Promise.all(parts.map(action));

/** Temporal first, as after a reboot; the services wait for nothing. */
const startHost = async (host: Host): Promise<void> => {
  const [temporal, ...services] = partsOfHost(host);
  await Promise.all([temporal!.start(), together(services, (part) => part.start())]);
};

function roll(part: Host['worker'], root: string | undefined): Promise<void> {
  part.relaunchWith(root === undefined ? {} : { root });
  return restart(part, 'SIGTERM');
}

/** Takes a host away and back as docs/operators/two-hosts.md has it. */
async function rollHost({ api, worker, proxy }: Host, root: string | undefined): Promise<void> {
  await proxy.end('SIGTERM');
  await Promise.all([roll(api, root), roll(worker, root)]);
  await proxy.start();
}

/**
 * If the replica lacks something, Temporal is stopped before it is promoted: its memory would be ahead of the database, and
 * histories would get gaps.
 * @param behindMs how long the replica has received nothing when the primary ends
 */
async function promote({ stack: { pair, hosts }, memory }: ClusterScene, behindMs: number): Promise<void> {
  const temporals = behindMs > 0 ? hosts.map(({ temporal }) => temporal) : [];
  memory.set('from', Date.now());
  if (behindMs > 0) cut('postgres2', 'both ways');
  await delay(behindMs);
  await pair.primary.end('SIGKILL');
  reconnect('postgres2');
  await together(temporals, (part) => part.end('SIGKILL'));
  await delay(PROMOTED_AFTER_MS);
  await pair.promote();
  await together(temporals, (part) => part.start());
  memory.set('to', Date.now());
}

/** A worker that was cut off for longer than the activity of an attempt (30 s) may repeat an earlier webhook late. */
const SILENT: Pick<Plan, 'allowed'> = { allowed: () => ({ repeatsLate: true, overlaps: () => true }) };

const PLANS: Plan[] = [
  {
    name: 'a host is killed, and returns',
    steps: ({ host }) => [
      { name: 'killed', begin: () => together(partsOfHost(host), (part) => part.end('SIGKILL')) },
      { name: 'returned', begin: () => startHost(host) },
    ],
    allowed: () => ({ repeatsLate: true }),
  },
  {
    name: 'the network of a host is cut',
    variants: [...Object.keys(CUTS), 'slow', 'hosts separated'],
    steps: ({ host, other, variant }) => [
      {
        name: 'cut',
        begin: async () => {
          if (variant === 'slow') slowDown(host.place);
          else if (variant === 'hosts separated') separate(host.place, other.place);
          else cut(host.place, variant as Cut);
          return Promise.resolve();
        },
      },
      {
        name: 'returned',
        begin: async () => {
          if (variant === 'slow') speedUp(host.place);
          else reconnect(host.place);
          return Promise.resolve();
        },
      },
    ],
    ...SILENT,
  },
  {
    name: 'a rolling restart of Temporal',
    steps: ({ stack }) =>
      stack.hosts.map(({ temporal, place }) => ({ name: place, begin: () => restart(temporal, 'SIGTERM') })),
  },
  {
    name: 'the Postgres primary is killed, synchronous replica',
    isSynchronous: true,
    steps: (scene) => [{ name: 'killed', begin: () => promote(scene, 0) }],
  },
  {
    name: 'the Postgres primary is killed, asynchronous replica',
    restores: true,
    steps: (scene) => [{ name: 'killed', begin: () => promote(scene, BEHIND_MS) }],
    repair: repairAll,
    allowed: ({ memory }) => restoredBetween(memory),
  },
  {
    name: 'a rolling upgrade and back',
    steps: ({ host, other, oldRoot }) => [
      { name: 'one host rolled back', begin: () => rollHost(host, oldRoot) },
      { name: 'both rolled back', begin: () => rollHost(other, oldRoot) },
      { name: 'one host upgraded', begin: () => rollHost(host, undefined) },
      { name: 'both upgraded', begin: () => rollHost(other, undefined) },
    ],
  },
  {
    name: 'a worker of the old build beside the new one',
    steps: ({ host, oldRoot }) => [
      { name: 'old', begin: () => roll(host.worker, oldRoot), lastsMs: BESIDE_MS },
      { name: 'new', begin: () => roll(host.worker, undefined) },
    ],
  },
];

/**
 * Creates, reads and changes orders at a fixed rate until `isOver`, whatever else waits: the load's customers wait for each other.
 */
async function probe(
  { stack, ledger, shops, random }: Scene,
  canVanish: boolean,
  isOver: () => boolean,
): Promise<void> {
  // The load alone is the measure of throughput.
  const caller = createCaller(stack.apiUrls, { ...ledger, successes: [] });
  const shopper = new Shopper(caller, ledger, stack.checkoutKey, canVanish, canVanish);
  const running = new Set<Promise<unknown>>();
  const shop = shops[0]!;
  const change = async (): Promise<void> => {
    const record = await shopper.create(shop, 10);
    if (!record) return;
    await shopper.progress(record, 'signup_started');
    await shopper.cancel(shop, record);
  };
  const read = async (): Promise<void> => {
    const known = acknowledged(ledger).filter(({ record }) => record.sellerId === shop.id);
    if (known.length > 0) await shopper.read(shop, random.pick(known).record);
  };
  for (let count = 0; !isOver(); count++) {
    for (const work of count % 2 === 0 ? [change, read] : [read]) {
      const one = work()
        .catch((error: unknown) => ledger.complaints.push(`a probe failed: ${String(error)}`))
        .finally(() => running.delete(one));
      running.add(one);
    }
    await delay(CREATE_EVERY_MS / 2);
  }
  await Promise.all(running);
  await caller.close();
}

function cellOf({ name, steps, isSynchronous = false, ...details }: Plan): ClusterCell {
  const phases: Phase[] = [];
  let table = '';
  let isOver = false;
  let probing = Promise.resolve();
  return {
    ...details,
    ...{ name, isSynchronous, table: () => table, warmUpMs: 25_000 },
    async prepare(scene) {
      phases.push({ name: 'before', from: performance.now() + WARM_UP_MS, to: Infinity });
      probing = delay(WARM_UP_MS).then(() => probe(scene, details.restores ?? false, () => isOver));
      return Promise.resolve();
    },
    async strike(scene) {
      const stack = scene.stack as ClusterStack;
      const [host, other] = scene.random.chance(0.5) ? stack.hosts : stack.hosts.toReversed();
      const planned = steps({ ...scene, stack, host: host!, other: other! });
      try {
        for (const [index, step] of planned.entries()) {
          const from = performance.now();
          phases.at(-1)!.to = from;
          phases.push({ name: step.name, from, to: Infinity });
          console.log(`${new Date().toISOString()} ${host!.place} ${step.name}`);
          await step.begin();
          await delay(step.lastsMs ?? (index === planned.length - 1 ? AFTER_MS : FAULT_MS));
        }
      } finally {
        phases.at(-1)!.to = performance.now();
        isOver = true;
        await probing;
        table = tableOf(scene.ledger, phases);
      }
    },
  };
}

export const CELLS: ClusterCell[] = PLANS.map(cellOf);
