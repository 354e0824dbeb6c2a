import { randomUUID } from 'node:crypto';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { STATUS_CODES, createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type Koa from 'koa';
import { Problem } from '../contracts/problem';

/** Node's own defaults are made for browsers and uploads; an API call is small and quick. Times in ms. */
export interface HttpSettings {
  /** Of request line and headers together. */
  maxHeaderBytes: number;
  maxConnections: number;
  headersTimeoutMs: number;
  requestTimeoutMs: number;
  keepAliveTimeoutMs: number;
  /** For a connection on which nothing moves, as under a caller who does not read: longer than any call takes. */
  stallTimeoutMs: number;
}

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
  settings: HttpSettings,
): Promise<HttpServer> {
  const handle = app.callback();
  const options = {
    maxHeaderSize: settings.maxHeaderBytes,
    headersTimeout: settings.headersTimeoutMs,
    requestTimeout: settings.requestTimeoutMs,
    keepAliveTimeout: settings.keepAliveTimeoutMs,
    // One without is answered here, as a problem.
    requireHostHeader: false,
    connectionsCheckingInterval: Math.ceil(settings.headersTimeoutMs / 5),
  };
  /** The response that each connection had last, or is having. */
  const latest = new WeakMap<Socket, ServerResponse>();
  const server = createServer(options, (request, response) => {
    latest.set(request.socket, response);
    if (request.httpVersion === '1.1' && request.headers.host === undefined) {
      refuse(response, new Problem('bad_request', 'A request names its Host.'));
      return;
    }
    void handle(request, response);
  });
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    latest.set(request.socket, response);
    refuse(response, new Problem('bad_request', 'No Expect is met but 100-continue.'));
  });
  server.maxConnections = settings.maxConnections;
  server.setTimeout(settings.stallTimeoutMs);
  server.on('clientError', (error, socket: Socket) => answerUnreadable(error, socket, settings, latest.get(socket)));
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
function answerUnreadable(
  error: NodeJS.ErrnoException,
  socket: Socket,
  settings: HttpSettings,
  latest: ServerResponse | undefined,
): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  if (error.code === REQUEST_TIMEOUT) timedOut.add(socket);
  // What was answered before its body came, as by a 401, has had its answer.
  const isAnswered = latest?.writableEnded && !latest.req.complete;
  socket.end(isAnswered ? '' : toMessage(toProblem(error.code, settings)));
  // One who goes on sending would keep the connection for as long as he likes.
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}

/** Answers a request that does not get as far as Koa; its body is not read. */
function refuse(response: ServerResponse, problem: Problem): void {
  const { headers, body } = render(problem);
  response.writeHead(problem.status, headers).end(body);
}

function toMessage(problem: Problem): string {
  const { headers, body } = render(problem);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status] ?? ''}\r\n${lines.join('')}\r\n${body}`;
}

function render(problem: Problem): { headers: Record<string, string>; body: string } {
  const requestId = randomUUID();
  const body = JSON.stringify(problem.toBody('/', requestId));
  const headers = {
    'Content-Type': 'application/problem+json',
    'Content-Length': String(Buffer.byteLength(body)),
    'X-Request-Id': requestId,
    'Cache-Control': 'no-store',
    Connection: 'close',
  };
  return { headers, body };
}

function toProblem(errorCode: string | undefined, { maxHeaderBytes }: HttpSettings): Problem {
  if (errorCode === 'HPE_HEADER_OVERFLOW') {
    return new Problem('headers_too_large', `Request line and headers may be ${maxHeaderBytes} bytes together.`);
  }
  if (errorCode === REQUEST_TIMEOUT) {
    return requestTimeout();
  }
  return new Problem('bad_request', 'The request could not be read as HTTP.');
}

export function requestTimeout(): Problem {
  return new Problem('request_timeout', 'The request did not arrive in time. Nothing was changed.');
}
