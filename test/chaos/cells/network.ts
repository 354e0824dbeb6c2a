import { setTimeout as delay } from 'node:timers/promises';
import { type Cell, expectHits, faultMs } from '../cell';
import { LINK_FAULTS } from '../link';
import { LINKS } from '../stack';

export const NETWORK_CELLS: Cell[] = [...LINKS, 'worker to receiver' as const].flatMap((link) =>
  LINK_FAULTS.map((fault): Cell => ({
    name: `${fault}, ${link}`,
    group: 'network',
    async strike({ stack, random }) {
      stack.links[link].fail(fault);
      try {
        await delay(faultMs(random));
      } finally {
        stack.links[link].heal();
      }
      expectHits(stack.links[link].hits(), 'connection');
    },
    ...(link !== 'API to Postgres' && { spares: link === 'worker to receiver' ? 'service' : 'API' }),
    ...(link === 'worker to receiver' && { allowed: () => ({ overlaps: true }) }),
  })),
);
