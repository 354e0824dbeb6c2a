import { setTimeout as delay } from 'node:timers/promises';
import { type Cell, type Scene, type Spared, expectHits, faultMs } from '../cell';
import type { Link, LinkFault } from '../link';
import { LINKS, type LinkName } from '../stack';

const LONG_MS = 45_000;
/** Between two faults of a run. */
const PAUSE_MS = 1500;
/** Three seeds break each link in every way. */
const FAULTS: Record<string, LinkFault[]> = {
  'down, then resets': ['down', 'reset'],
  'a black hole, then slow closes': ['black hole', 'slow close'],
  'latency, then cut, then sliced': ['latency', 'cut', 'sliced'],
};

async function breakLinks(links: readonly Link[], fault: LinkFault, ms: number): Promise<void> {
  for (const link of links) link.fail(fault);
  try {
    await delay(ms);
  } finally {
    for (const link of links) link.heal();
  }
  expectHits(
    links.reduce((sum, link) => sum + link.hits(), 0),
    `connection, by "${fault}"`,
  );
}

/** A black hole to Postgres outlasts the 7 s of a query. */
const durationOf = (fault: LinkFault, link: LinkName, { random }: Scene): number =>
  fault === 'black hole' && link.endsWith('Postgres') ? random.between(10_000, 12_000) : faultMs(random);

const SPARES: Record<LinkName, Spared | undefined> = {
  'API to Postgres': undefined,
  'API to Temporal': 'API',
  'worker to Postgres': 'API',
  'worker to Temporal': 'API',
  'worker to receiver': 'service',
};

export const NETWORK_CELLS: Cell[] = [
  ...LINKS.map((link): Cell => ({
    name: `the network, ${link}`,
    variants: Object.keys(FAULTS),
    async strike(scene) {
      for (const fault of FAULTS[scene.variant!]!) {
        await breakLinks(scene.stack.links[link], fault, durationOf(fault, link, scene));
        await delay(PAUSE_MS);
      }
    },
    spares: () => SPARES[link],
    allowed: () => ({ overlaps: () => link === 'worker to receiver' }),
  })),
  {
    name: 'worker 1 alone loses Temporal for 45 s',
    spares: 'API',
    // Longer than the activity of an attempt (30 s).
    strike: ({ stack }) => breakLinks([stack.links['worker to Temporal'][0]!], 'black hole', LONG_MS),
  },
];
