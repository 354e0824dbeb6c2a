import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type Koa from 'koa';

/** Limits for small and quick API calls; Node's defaults suit browsers and uploads. Times in ms. */
export interface HttpSettings {
  maxConnections: number;
  headersTimeoutMs: number;
  requestTimeoutMs: number;
  keepAliveTimeoutMs: number;
  /** Closes a connection without traffic, such as a client that does not read. Must exceed the longest call. */
  stallTimeoutMs: number;
}

export interface HttpServer {
  /** The actual port, also if port 0 was requested. */
  port: number;
  /**
   * Stops accepting connections, waits for running requests, and cuts the remaining connections after `graceMs`.
   * @param delayMs requests are still served for this long: load balancers send them until their next check fails
   */
  close(graceMs: number, delayMs?: number): Promise<void>;
}

const IDLE_CHECK_MS = 50;
/** At a stop, the time for the rest of a request that is arriving. */
const ARRIVAL_LIMIT_MS = 1000;
/** Bounds what a client can send ahead of its responses. After it, the client opens a new connection. */
const MAX_REQUESTS_PER_CONNECTION = 100;
/** Connections that may wait to be accepted. Beyond it, a caller's system tries again after 1, 3 and 7 s. */
const BACKLOG = 4096;

/**
 * Node itself answers what is no HTTP, has more than 16 KiB of headers or is too late, without a body: with 400, 417, 431
 * or 408.
 * @param onError reports a later error of the server, such as a connection that cannot be accepted; it continues
 * @throws the system's error if the port is unavailable
 */
export async function listen(
  app: Pick<Koa, 'callback'>,
  port: number,
  host: string,
  settings: HttpSettings,
  onError: (error: Error) => void = (error) => process.emitWarning(error),
): Promise<HttpServer> {
  const handle = app.callback();
  const options = {
    headersTimeout: settings.headersTimeoutMs,
    requestTimeout: settings.requestTimeoutMs,
    keepAliveTimeout: settings.keepAliveTimeoutMs,
    connectionsCheckingInterval: Math.ceil(settings.headersTimeoutMs / 5),
  };
  /** The latest response of each connection; undefined before its first request. */
  const latest = new Map<Socket, ServerResponse | undefined>();
  const takeTurns = createTurns(latest);
  const server = createServer(options, (request, response) => {
    const target = toOriginForm(request.url ?? '');
    if (target === undefined) {
      response.writeHead(400, { Connection: 'close' }).end();
      return;
    }
    request.url = target;
    takeTurns(request.socket, response, () => void handle(request, response));
  });
  // Node would silently drop the headers after the first 2,000, and a proxy appends X-Forwarded-For last.
  server.maxHeadersCount = 0;
  server.maxConnections = settings.maxConnections;
  // A client that has closed its half of the connection gets the answer that it waits for. Node's types lack this.
  Object.assign(server, { httpAllowHalfOpen: true });
  server.setTimeout(settings.stallTimeoutMs);
  server.on('connection', (socket: Socket) => {
    latest.set(socket, undefined);
    socket.once('close', () => latest.delete(socket));
  });
  // Without an address, Node listens on IPv6 and IPv4, and where there is no IPv6, on IPv4 only.
  await once(server.listen({ port, ...(host !== '::' && { host }), backlog: BACKLOG }), 'listening');
  server.on('error', onError);
  return {
    port: (server.address() as AddressInfo).port,
    close: (graceMs, delayMs = 0) => close(server, latest, graceMs, delayMs),
  };
}

/**
 * Returns the path and query of a target that is a whole URL (RFC 9112, section 3.2.2); undefined if the URL is not
 * valid. Koa would fail on it in code that expects no errors. The path stays as it was sent, as a proxy has seen it.
 */
function toOriginForm(target: string): string | undefined {
  if (target.startsWith('/') || target === '*') return target;
  const [, path] = /^https?:\/\/[^/?#]+(.*)$/i.exec(target) ?? [];
  if (path === undefined || !URL.canParse(target)) return undefined;
  return path.startsWith('/') ? path : `/${path}`;
}

/**
 * Returns a function that begins a request once the earlier ones of its connection have their responses. Node begins
 * all requests that have arrived at the same time: one connection could then hold up the others, and fill the memory
 * with responses that it does not read. The last response that a connection may have closes it: Node itself would answer
 * what has arrived after that request with empty 503s.
 */
function createTurns(
  latest: Map<Socket, ServerResponse | undefined>,
): (socket: Socket, response: ServerResponse, begin: () => void) => void {
  const counts = new WeakMap<Socket, number>();
  return (socket, response, begin) => {
    const earlier = latest.get(socket);
    latest.set(socket, response);
    const count = (counts.get(socket) ?? 0) + 1;
    counts.set(socket, count);
    if (count === MAX_REQUESTS_PER_CONNECTION) response.setHeader('Connection', 'close');
    if (!earlier || earlier.closed) begin();
    else
      earlier.once('close', () => {
        if (!socket.writable) return;
        // The client may have gone.
        if (socket.readableEnded) socket.destroySoon();
        else begin();
      });
  };
}

async function close(
  server: Server,
  latest: ReadonlyMap<Socket, ServerResponse | undefined>,
  graceMs: number,
  delayMs: number,
): Promise<void> {
  server.prependListener('request', (_, response: ServerResponse) => response.setHeader('Connection', 'close'));
  if (delayMs > 0) await delay(delayMs);
  const stopAt = performance.now() + ARRIVAL_LIMIT_MS;
  // Node keeps a connection open after its running request, until the client closes it, and one without a request.
  const destroyIdle = (): void => {
    const isLate = performance.now() > stopAt;
    for (const [socket, response] of latest)
      if (!response || response.closed || (isLate && !response.req.complete)) socket.destroy();
  };
  const idleCheck = setInterval(destroyIdle, IDLE_CHECK_MS);
  const cut = setTimeout(() => server.closeAllConnections(), graceMs);
  const closed = new Promise((resolve) => server.close(resolve));
  destroyIdle();
  await closed;
  clearInterval(idleCheck);
  clearTimeout(cut);
}
