import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * The machine has a slot for each of these ports of 127.0.0.1, below those that stacks take. Whoever listens has the slot, so it
 * is free once its process has ended, however that ended.
 */
const PORTS = [19_861, 19_862];
const POLL_MS = 250;

/**
 * Waits for one of the machine's slots. Runners share them, so that only two loads run at the same time.
 * @returns frees the slot
 */
export async function takeSlot(ports: readonly number[] = PORTS): Promise<() => void> {
  for (;;) {
    for (const port of ports) {
      const free = await listenOn(port);
      if (free) return free;
    }
    await delay(POLL_MS);
  }
}

/** Undefined if another process listens. */
function listenOn(port: number): Promise<(() => void) | undefined> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', () => resolve(undefined));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => resolve(() => void server.close()));
  });
}
