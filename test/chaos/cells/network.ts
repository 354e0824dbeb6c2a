import { setTimeout as delay } from 'node:timers/promises';
import { type Cell, type Scene, type Spared, expectHits, faultMs } from '../cell';
import { LINK_FAULTS, type Link, type LinkFault } from '../link';
import { LINKS, type LinkName } from '../stack';

const LONG_MS = 45_000;
/** Each of these has a cell for each link. */
const SEPARATE = ['down', 'black hole'] as const;
const GENTLE = LINK_FAULTS.filter((fault) => fault !== 'down' && fault !== 'black hole');

async function breakLinks(links: readonly Link[], fault: LinkFault, ms: number): Promise<void> {
  for (const link of links) link.fail(fault);
  try {
    await delay(ms);
  } finally {
    for (const link of links) link.heal();
  }
  expectHits(
    links.reduce((sum, link) => sum + link.hits(), 0),
    'connection',
  );
}

/** A black hole to Postgres outlasts the 7 s of a query. */
const durationOf = (fault: LinkFault, link: LinkName, { random }: Scene): number =>
  fault === 'black hole' && link.endsWith('Postgres') ? random.between(10_000, 12_000) : faultMs(random);

function spared(link: LinkName): Spared | undefined {
  if (link === 'API to Postgres') return undefined;
  return link === 'worker to receiver' ? 'service' : 'API';
}

export const NETWORK_CELLS: Cell[] = [
  ...SEPARATE.flatMap((fault) =>
    LINKS.map((link): Cell => ({
      name: `${fault}, ${link}`,
      group: 'network',
      strike: (scene) => breakLinks(scene.stack.links[link], fault, durationOf(fault, link, scene)),
      spares: () => spared(link),
      ...(link === 'worker to receiver' && { allowed: () => ({ overlaps: true }) }),
    })),
  ),
  ...GENTLE.map((fault): Cell => ({
    name: `${fault}, one of the links`,
    group: 'network',
    variants: LINKS,
    strike: ({ stack, variant, random }) => breakLinks(stack.links[variant as LinkName], fault, faultMs(random)),
    spares: ({ variant }) => spared(variant as LinkName),
    allowed: ({ variant }) => ({ overlaps: variant === 'worker to receiver' }),
  })),
  {
    name: 'worker 1 alone loses Temporal for 45 s',
    group: 'network',
    spares: 'API',
    slow: true,
    // Longer than the activity of an attempt (30 s).
    strike: ({ stack }) => breakLinks([stack.links['worker to Temporal'][0]!], 'black hole', LONG_MS),
  },
];
