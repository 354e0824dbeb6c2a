import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** True if a server can listen on this port of 127.0.0.1 now. */
export function isPortFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen({ port, host: '127.0.0.1', exclusive: true }, () => probe.close(() => resolve(true)));
  });
}

/**
 * A free port of 127.0.0.1. It is random and below the ephemeral range, so that an outgoing connection or a second
 * stack that starts at the same time is unlikely to take it before the caller binds it.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 100; tries += 1) {
    const port = randomInt(20_000, 30_000);
    if (await isPortFree(port)) return port;
  }
  throw new Error('no free port found between 20000 and 30000 on 127.0.0.1');
}

/** The preferred port if it is free, else a random one. */
export async function choosePort(preferred: number): Promise<number> {
  return (await isPortFree(preferred)) ? preferred : freePort();
}
