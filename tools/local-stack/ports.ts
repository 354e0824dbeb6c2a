import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** Whether a server could listen on this port of 127.0.0.1 now. */
export function isPortFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen({ port, host: '127.0.0.1', exclusive: true }, () => probe.close(() => resolve(true)));
  });
}

/**
 * A port of 127.0.0.1 that nobody listens on. Random, and below the ephemeral range, so that neither an outgoing
 * connection nor a second stack that starts at the same time is likely to take it before its user binds it.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 100; tries += 1) {
    const port = randomInt(20_000, 30_000);
    if (await isPortFree(port)) return port;
  }
  throw new Error('no free port found between 20000 and 30000 on 127.0.0.1');
}

/** The preferred port if it is free, else another one. */
export async function choosePort(preferred: number): Promise<number> {
  return (await isPortFree(preferred)) ? preferred : freePort();
}
