import { randomUUID } from 'node:crypto';
import type { Server } from 'node:http';
import { STATUS_CODES, createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type Koa from 'koa';
import { Problem } from '../contracts/problem';

/** Node's own defaults are made for browsers and uploads; an API call is small and quick. Times in ms. */
const LIMITS = {
  headersTimeout: 10_000,
  requestTimeout: 20_000,
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: 2000,
  /** For a connection on which nothing moves, as under a caller who does not read: longer than any call takes. */
  stallTimeout: 90_000,
  maxConnections: 10_000,
};
const MAX_HEADER_SIZE = 16 * 1024;
/** For a caller to read why he is hung up on. */
const LINGER_MS = 1000;
/** Node's name for it. */
const REQUEST_TIMEOUT = 'ERR_HTTP_REQUEST_TIMEOUT';

/** Connections whose request was given up because it took too long to arrive. */
const timedOut = new WeakSet<Socket>();

export function hasTimedOut(socket: Socket): boolean {
  return timedOut.has(socket);
}

export interface HttpServer {
  /** The port listened on; another than asked for where that was 0. */
  port: number;
  /** Takes no more connections, lets requests under way end, and cuts those that do not within `graceMs`. */
  close(graceMs: number): Promise<void>;
}

/** @throws the system's error where the port cannot be had */
export async function listen(
  app: Pick<Koa, 'callback'>,
  port: number,
  host: string,
  limits: Partial<typeof LIMITS> = {},
): Promise<HttpServer> {
  const handle = app.callback();
  const { maxConnections, stallTimeout, ...times } = { ...LIMITS, ...limits };
  const server = createServer({ ...times, maxHeaderSize: MAX_HEADER_SIZE }, (request, response) => {
    void handle(request, response);
  });
  server.maxConnections = maxConnections;
  server.setTimeout(stallTimeout);
  server.on('clientError', answerUnreadable);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return { port: (server.address() as AddressInfo).port, close: (graceMs) => close(server, graceMs) };
}

async function close(server: Server, graceMs: number): Promise<void> {
  const cut = setTimeout(() => server.closeAllConnections(), graceMs);
  await new Promise((resolve) => {
    server.close(resolve);
    server.closeIdleConnections();
  });
  clearTimeout(cut);
}

/** What Node's parser refuses never reaches Koa; it is answered in the same form as far as a bare socket allows. */
function answerUnreadable(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  if (error.code === REQUEST_TIMEOUT) timedOut.add(socket);
  const problem = toProblem(error.code);
  const requestId = randomUUID();
  const body = JSON.stringify(problem.toBody('/', requestId));
  socket.end(
    `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status] ?? ''}\r\n` +
      `Content-Type: application/problem+json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n` +
      `X-Request-Id: ${requestId}\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n${body}`,
  );
  // One who goes on sending would keep the connection for as long as he likes.
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}

function toProblem(errorCode: string | undefined): Problem {
  if (errorCode === 'HPE_HEADER_OVERFLOW') {
    return new Problem('headers_too_large', `Request line and headers may be ${MAX_HEADER_SIZE} bytes together.`);
  }
  if (errorCode === REQUEST_TIMEOUT) {
    return requestTimeout();
  }
  return new Problem('bad_request', 'The request could not be read as HTTP.');
}

export function requestTimeout(): Problem {
  return new Problem('request_timeout', 'The request did not arrive in time. Nothing was changed.');
}
