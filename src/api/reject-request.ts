import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { Problem } from '../contracts/problem';
import { PROBLEM_TYPE } from '../contracts/problem-schema';
import { STANDARD_HEADERS } from './problems';
import { requestIdOf } from './request-id';

/** Gives the client time to read the response before the connection is cut. */
const LINGER_MS = 1000;
/** Node's error code. */
export const REQUEST_TIMEOUT = 'ERR_HTTP_REQUEST_TIMEOUT';

/** Connections that were closed because their request took too long to arrive. */
const timedOut = new WeakSet<Socket>();

export function hasTimedOut(socket: Socket): boolean {
  return timedOut.has(socket);
}

export function requestTimeout(): Problem {
  return new Problem('request_timeout', 'The request did not arrive in time. Nothing changed.');
}

/** A request that was answered before Koa saw it. */
export interface RejectedRequest {
  requestId: string;
  /** Undefined if the request could not be parsed. */
  method?: string | undefined;
  /** Without the query; `/` if the request could not be parsed. It may contain a pay link. */
  path: string;
  problem: Problem;
}

/** Answers a request before Koa sees it, without reading its body. */
export function rejectRequest(
  response: ServerResponse,
  problem: Problem,
  onRejected: (request: RejectedRequest) => void,
): void {
  const { req } = response;
  const requestId = requestIdOf(req.headers['x-request-id']);
  const rejected = { requestId, method: req.method, path: pathOf(req), problem };
  const { headers, body } = render(rejected);
  response.writeHead(problem.status, headers).end(body);
  onRejected(rejected);
}

/**
 * Answers a request that Node's parser refused, with the same problem format that Koa's middleware uses.
 * @param latest the latest response on this connection
 * @param onRejected not called for a request whose body was rejected: Koa has it, and logs it
 */
export function rejectUnreadable(
  error: NodeJS.ErrnoException,
  socket: Socket,
  latest: ServerResponse | undefined,
  maxHeaderBytes: number,
  onRejected: (request: RejectedRequest) => void,
): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  if (error.code === REQUEST_TIMEOUT) timedOut.add(socket);
  const problem = toProblem(error.code, maxHeaderBytes);
  if (latest?.req.complete === false) {
    // A request that was answered before its body arrived, for example with a 401, gets no second response.
    const requestId = requestIdOf(latest.getHeader('X-Request-Id') ?? latest.req.headers['x-request-id']);
    socket.end(latest.writableEnded ? '' : toMessage({ requestId, path: pathOf(latest.req), problem }));
  } else {
    const rejected = { requestId: requestIdOf(undefined), path: '/', problem };
    socket.end(toMessage(rejected));
    // A connection that was opened ahead of its first request is no request.
    if (socket.bytesRead > 0) onRejected(rejected);
  }
  // A client that keeps sending would keep the connection open.
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}

const pathOf = ({ url = '/' }: IncomingMessage): string => url.replace(/\?.*$/s, '');

function toMessage(rejected: RejectedRequest): string {
  const { headers, body } = render(rejected);
  const { status } = rejected.problem;
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n${body}`;
}

function render({ requestId, path, problem }: RejectedRequest): { headers: Record<string, string>; body: string } {
  const body = JSON.stringify(problem.toBody(path, requestId));
  const headers = {
    'Content-Type': PROBLEM_TYPE,
    'Content-Length': String(Buffer.byteLength(body)),
    'X-Request-Id': requestId,
    ...STANDARD_HEADERS,
    Connection: 'close',
  };
  return { headers, body };
}

function toProblem(errorCode: string | undefined, maxHeaderBytes: number): Problem {
  if (errorCode === 'HPE_HEADER_OVERFLOW') {
    return new Problem(
      'headers_too_large',
      `The request line and headers exceed the limit of ${maxHeaderBytes} bytes.`,
    );
  }
  if (errorCode === REQUEST_TIMEOUT) return requestTimeout();
  return new Problem('bad_request', 'The request is not valid HTTP.');
}
