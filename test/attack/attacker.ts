import { Agent, type OutgoingHttpHeaders, request } from 'node:http';
import { type Socket, connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Bombs } from './attacks';
import type { Caller, Target } from './target';

const CALL_TIMEOUT_MS = 15_000;

interface Bounds {
  /** The part of the full number of calls. */
  scale: number;
  /** When the attack ends, in ms of `performance.now()`. */
  deadline: number;
  /** How many connections an attack may hold, at full scale. */
  connections: number;
}

/** Counts by status, and by other results. */
export type Tally = Record<string, number>;

interface CallOptions {
  method?: string;
  headers?: OutgoingHttpHeaders;
  body?: string | Buffer;
}

/** An attacker at an address of its own. */
export class Attacker {
  private readonly agent: Agent;
  private readonly sockets = new Set<Socket>();

  constructor(
    readonly target: Target,
    readonly bounds: Bounds,
    readonly bombs: Bombs,
    readonly address: string,
    readonly seller: Caller,
    readonly tally: Tally = {},
  ) {
    this.agent = new Agent({ keepAlive: true });
  }

  /** The same attacker at another address. */
  from(address: string): Attacker {
    return new Attacker(this.target, this.bounds, this.bombs, address, this.seller, this.tally);
  }

  count(name: string | number, by = 1): void {
    this.tally[name] = (this.tally[name] ?? 0) + by;
  }

  isOver(): boolean {
    return performance.now() >= this.bounds.deadline;
  }

  scaled(count: number): number {
    return Math.ceil(count * this.bounds.scale);
  }

  /** Makes calls, `atOnce` at the same time, until `count` or the deadline is reached. */
  async repeat(count: number, atOnce: number, call: (index: number) => Promise<unknown>): Promise<void> {
    let next = 0;
    const loop = async (): Promise<void> => {
      while (next < this.scaled(count) && !this.isOver()) await call(next++);
    };
    await Promise.all(Array.from({ length: atOnce }, loop));
  }

  /** Counts the response's status, and returns its text. */
  call(path: string, { method = 'GET', headers = {}, body }: CallOptions = {}): Promise<string> {
    return new Promise((resolve) => {
      let isOver = false;
      const end = (result: string | number, text = ''): void => {
        if (isOver) return;
        isOver = true;
        this.count(result);
        resolve(text);
      };
      const sent = request(
        {
          host: '127.0.0.1',
          port: this.target.port,
          localAddress: this.address,
          agent: this.agent,
          timeout: CALL_TIMEOUT_MS,
          path,
          method,
          headers: { ...headers, ...(body !== undefined && { 'Content-Length': Buffer.byteLength(body) }) },
        },
        (response) => {
          let text = '';
          response.on('data', (data: Buffer) => (text += data.toString('latin1')));
          response.once('end', () => end(response.statusCode!, text));
          response.once('error', () => end('cut'));
        },
      );
      sent.once('timeout', () => sent.destroy());
      // The response may arrive before the body is sent.
      sent.once('error', () => end('cut'));
      sent.end(body);
    });
  }

  callAs({ keys }: Caller, path: string, { headers, body, ...options }: CallOptions = {}): Promise<string> {
    const json = body !== undefined && { 'Content-Type': 'application/json' };
    return this.call(path, {
      ...options,
      headers: { Authorization: `Bearer ${keys[0]!}`, ...json, ...headers },
      ...(body !== undefined && { body }),
    });
  }

  /** Opens a connection that stays open until the other side closes it. */
  open(port = this.target.port, localAddress = this.address): Socket {
    const socket = connect({ host: '127.0.0.1', port, localAddress });
    this.sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => this.sockets.delete(socket));
    return socket;
  }

  openConnections(): number {
    return this.sockets.size;
  }

  async untilDeadline(): Promise<void> {
    await delay(Math.max(this.bounds.deadline - performance.now(), 0));
  }
}
