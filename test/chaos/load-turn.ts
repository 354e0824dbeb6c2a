import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** Whoever listens to it on 127.0.0.1 has the turn, so it is free once its process has ended, however that ended. */
const PORT = 19_861;
const POLL_MS = 250;

/**
 * Waits until no other runner of the machine has a load. Two loads at the same time are too much for two cores.
 * @returns ends the turn
 */
export async function takeLoadTurn(port = PORT): Promise<() => void> {
  for (;;) {
    const endTurn = await listenOn(port);
    if (endTurn) return endTurn;
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
