import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type Koa from 'koa';
import { Problem } from '../contracts/problem';
import { guardConnections } from './guard-connections';
import { REQUEST_TIMEOUT, type RejectedRequest, rejectRequest, rejectUnreadable } from './reject-request';

/** Limits for small and quick API calls; Node's defaults suit browsers and uploads. Times in ms. */
export interface HttpSettings {
  /** Maximum size of the request line and the headers together. */
  maxHeaderBytes: number;
  maxConnections: number;
  /** True if all connections come from proxies. Otherwise one address gets a tenth of the connections. */
  isBehindProxy?: boolean | undefined;
  headersTimeoutMs: number;
  requestTimeoutMs: number;
  keepAliveTimeoutMs: number;
  /** Closes a connection without traffic, such as a client that does not read. Must exceed the longest call. */
  stallTimeoutMs: number;
  /** Receives each request that is answered before the app sees it. */
  onRejected?: ((request: RejectedRequest) => void) | undefined;
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
const MAX_HEADERS = 200;
/** Requests that a connection may send before their responses. Node begins all of them at the same time. */
const MAX_PIPELINED = 20;
/** Connections that may wait to be accepted. Beyond it, a caller's system tries again after 1, 3 and 7 s. */
const BACKLOG = 4096;
/** Time in which Node reads what arrived before the deadline. */
const UNREAD_MS = 100;

/**
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
  const { onRejected = () => undefined } = settings;
  const options = {
    maxHeaderSize: settings.maxHeaderBytes,
    headersTimeout: settings.headersTimeoutMs,
    requestTimeout: settings.requestTimeoutMs,
    keepAliveTimeout: settings.keepAliveTimeoutMs,
    // The request listener below answers a missing Host header with a problem.
    requireHostHeader: false,
    connectionsCheckingInterval: Math.ceil(settings.headersTimeoutMs / 5),
  };
  /** The latest response of each connection, finished or not. */
  const latest = new WeakMap<Socket, ServerResponse>();
  const closeIfTooDeep = countPipelined();
  const server = createServer(options, (request, response) => {
    if (closeIfTooDeep(request.socket, response)) return;
    latest.set(request.socket, response);
    if (request.httpVersion === '1.1' && request.headers.host === undefined) {
      rejectRequest(response, new Problem('bad_request', 'The Host header is missing.'), onRejected);
      return;
    }
    if (request.rawHeaders.length > 2 * MAX_HEADERS) {
      const detail = `The request has more than ${MAX_HEADERS} headers.`;
      rejectRequest(response, new Problem('headers_too_large', detail), onRejected);
      return;
    }
    const target = toOriginForm(request.url ?? '');
    request.url = target ?? '/';
    if (target === undefined) {
      rejectRequest(response, new Problem('bad_request', 'The request target is not a valid URL.'), onRejected);
      return;
    }
    void handle(request, response);
  });
  server.on('checkExpectation', (request, response) => {
    if (closeIfTooDeep(request.socket, response)) return;
    latest.set(request.socket, response);
    rejectRequest(response, new Problem('bad_request', 'The Expect header supports 100-continue only.'), onRejected);
  });
  // Node would silently drop the headers after the first 2,000, and a proxy appends X-Forwarded-For last.
  server.maxHeadersCount = 0;
  server.maxConnections = settings.maxConnections;
  guardConnections(server, settings);
  server.setTimeout(settings.stallTimeoutMs);
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    const reject = (): void => rejectUnreadable(error, socket, latest.get(socket), settings.maxHeaderBytes, onRejected);
    if (error.code === REQUEST_TIMEOUT) unlessReceived(() => latest.get(socket), reject);
    else reject();
  });
  await once(server.listen({ port, host, backlog: BACKLOG }), 'listening');
  server.on('error', onError);
  return {
    port: (server.address() as AddressInfo).port,
    close: (graceMs, delayMs = 0) => close(server, graceMs, delayMs),
  };
}

/**
 * Returns the path and query of a target that is a whole URL (RFC 9112, section 3.2.2); undefined if the URL is not
 * valid. Koa would fail on it in code that expects no errors.
 */
function toOriginForm(target: string): string | undefined {
  if (target.startsWith('/') || target === '*') return target;
  if (!/^https?:/i.test(target) || !URL.canParse(target)) return undefined;
  const { pathname, search } = new URL(target);
  return pathname + search;
}

/** Returns a function that counts the unfinished responses of a connection, and closes it if they are too many. */
function countPipelined(): (socket: Socket, response: ServerResponse) => boolean {
  const unfinished = new WeakMap<Socket, number>();
  const change = (socket: Socket, by: number): number => {
    const count = (unfinished.get(socket) ?? 0) + by;
    unfinished.set(socket, count);
    return count;
  };
  return (socket, response) => {
    if (!socket.destroyed) {
      response.once('close', () => change(socket, -1));
      if (change(socket, 1) <= MAX_PIPELINED) return false;
      socket.destroy();
    }
    stopParsing(socket);
    return true;
  };
}

/**
 * Ignores what has arrived on a closed connection. Node would parse all of it, up to thousands of requests, and then
 * fail each of them, for 16 ms of CPU. The property is undocumented; its value is what Node returns for an upgrade, after
 * which no HTTP follows.
 */
function stopParsing({ parser }: Socket & { parser?: { onIncoming: () => number } | null }): void {
  if (parser) parser.onIncoming = () => 2;
}

/**
 * Calls `reject` unless the late request is complete a moment later: after a pause of this process, Node checks the
 * deadlines before it reads what arrived in time.
 * @param latest returns the latest response of the connection
 */
function unlessReceived(latest: () => ServerResponse | undefined, reject: () => void): void {
  const before = latest();
  const isBody = before?.req.complete === false;
  setTimeout(() => {
    const after = latest();
    const isReceived = after?.req.complete === true && (isBody || after !== before);
    if (!isReceived) reject();
  }, UNREAD_MS);
}

async function close(server: Server, graceMs: number, delayMs: number): Promise<void> {
  server.prependListener('request', (_, response: ServerResponse) => response.setHeader('Connection', 'close'));
  if (delayMs > 0) await delay(delayMs);
  // Node keeps a connection open after its running request, until the client closes it.
  const idleCheck = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS);
  const cut = setTimeout(() => server.closeAllConnections(), graceMs);
  await new Promise((resolve) => server.close(resolve));
  clearInterval(idleCheck);
  clearTimeout(cut);
}
