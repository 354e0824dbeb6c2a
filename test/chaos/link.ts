import { type Socket, connect, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { listen } from '../support/listening-server';

export type LinkFault = 'latency' | 'down' | 'black hole' | 'reset' | 'cut' | 'sliced' | 'slow close';

const LATENCY_MS = 300;
const RESET_EVERY_MS = 250;
/** Less than a webhook, more than it takes to connect to Postgres. */
const CUT_AFTER_BYTES = 1000;
const SLICE_BYTES = 64;
const SLOW_CLOSE_MS = 2500;

/** The network between two parts of the service: a TCP proxy that can fail. */
export interface Link {
  address: string;
  port: number;
  fail: (fault: LinkFault) => void;
  /** How many connections and pieces of data the last fault has hit. */
  hits: () => number;
  heal: () => void;
  close: () => void;
}

/** @param target host:port, read for each connection */
export async function openLink(target: () => string): Promise<Link> {
  const sockets = new Set<Socket>();
  /** Those of them that lead to the target. */
  const targets = new Set<Socket>();
  let fault: LinkFault | undefined;
  let hits = 0;
  let resets: NodeJS.Timeout | undefined;

  /** Forwards in one direction. Backpressure is left out: what passes here is small. */
  function forward(from: Socket, to: Socket): void {
    let forwarded = 0;
    let last: Promise<unknown> = Promise.resolve();
    const inOrder = (step: () => Promise<unknown>): void => {
      last = last.then(step).then(() => undefined);
    };
    const write = (chunk: Buffer): void => {
      if (!to.destroyed) to.write(chunk);
    };
    from.on('data', (chunk: Buffer) => {
      const due = performance.now() + LATENCY_MS;
      if (fault === 'latency' || fault === 'sliced') hits += 1;
      if (fault === 'latency') inOrder(() => delay(due - performance.now()));
      inOrder(async () => (fault === 'sliced' ? writeSliced(to, chunk) : write(chunk)));
      forwarded += chunk.length;
      if (fault === 'cut' && forwarded > CUT_AFTER_BYTES) {
        hits += 1;
        from.destroy();
      }
    });
    from.on('error', () => to.destroy());
    from.on('close', () => {
      sockets.delete(from);
      targets.delete(from);
      if (fault === 'slow close') hits += 1;
      inOrder(() => delay(fault === 'slow close' ? SLOW_CLOSE_MS : 0).then(() => to.destroy()));
    });
  }

  const server = createServer((near) => {
    if (fault === 'down') {
      hits += 1;
      near.resetAndDestroy();
      return;
    }
    const [host = '', port = ''] = target().split(':');
    const far = connect(Number(port), host);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.setNoDelay(true);
    }
    targets.add(far);
    forward(near, far);
    forward(far, near);
    // Like lost packets: TCP sends them again once the network is back.
    if (fault === 'black hole') pause([near, far]);
  });
  const { port } = await listen(server);
  const pause = (paused: Iterable<Socket>): void => {
    for (const socket of paused) {
      hits += 1;
      socket.pause();
    }
  };
  const resetAll = (): void => {
    hits += sockets.size;
    for (const socket of sockets) socket.resetAndDestroy();
  };
  return {
    address: `127.0.0.1:${port}`,
    port,
    fail(next) {
      fault = next;
      hits = 0;
      if (next === 'black hole') pause(sockets);
      if (next === 'down' || next === 'reset') resetAll();
      // The other side learns of it later.
      if (next === 'slow close') {
        hits += targets.size;
        for (const socket of targets) socket.destroy();
      }
      if (next === 'reset') resets = setInterval(resetAll, RESET_EVERY_MS);
    },
    hits: () => hits,
    heal() {
      clearInterval(resets);
      fault = undefined;
      for (const socket of sockets) socket.resume();
    },
    close() {
      clearInterval(resets);
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

async function writeSliced(to: Socket, chunk: Buffer): Promise<void> {
  for (let start = 0; start < chunk.length && !to.destroyed; start += SLICE_BYTES) {
    to.write(chunk.subarray(start, start + SLICE_BYTES));
    await delay(1);
  }
}
