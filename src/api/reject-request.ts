import { randomUUID } from 'node:crypto';
import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { Problem } from '../contracts/problem';
import { PROBLEM_TYPE } from '../contracts/problem-schema';
import { STANDARD_HEADERS } from './problems';

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

/** Answers a request before Koa sees it, without reading its body. */
export function rejectRequest(response: ServerResponse, problem: Problem): void {
  const { headers, body } = render(problem);
  response.writeHead(problem.status, headers).end(body);
}

/**
 * Answers a request that Node's parser refused, with the same problem format that Koa's middleware uses.
 * @param latest the latest response on this connection
 */
export function rejectUnreadable(
  error: NodeJS.ErrnoException,
  socket: Socket,
  latest: ServerResponse | undefined,
  maxHeaderBytes: number,
): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  if (error.code === REQUEST_TIMEOUT) timedOut.add(socket);
  // A request that was answered before its body arrived, for example with a 401, gets no second response.
  const isAnswered = latest?.writableEnded && !latest.req.complete;
  socket.end(isAnswered ? '' : toMessage(toProblem(error.code, maxHeaderBytes)));
  // A client that keeps sending would keep the connection open.
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
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
