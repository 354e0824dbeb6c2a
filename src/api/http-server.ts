import type { Server } from 'node:http';
import { STATUS_CODES, createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type Koa from 'koa';

/** Node's own defaults are made for browsers and uploads; an API call is small and quick. Times in ms. */
const LIMITS = {
  headersTimeout: 10_000,
  requestTimeout: 20_000,
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: 2000,
};
const MAX_CONNECTIONS = 10_000;

export interface HttpServer {
  /** The port listened on; another than asked for where that was 0. */
  port: number;
  /** Takes no more connections, lets requests under way end, and cuts those that do not within `graceMs`. */
  close(graceMs: number): Promise<void>;
}

/** @throws the system's error where the port cannot be had */
export async function listen(app: Pick<Koa, 'callback'>, port: number, host: string): Promise<HttpServer> {
  const server = createServer({ ...LIMITS, maxHeaderSize: 16 * 1024 }, app.callback());
  server.maxConnections = MAX_CONNECTIONS;
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
  const status = error.code === 'HPE_HEADER_OVERFLOW' ? 431 : error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : 400;
  const title = STATUS_CODES[status] ?? '';
  const code = title.toLowerCase().replaceAll(' ', '_');
  const detail = 'The request could not be read as HTTP.';
  const body = JSON.stringify({ type: 'about:blank', title, status, detail, code, errors: [{ code, detail }] });
  socket.end(
    `HTTP/1.1 ${status} ${title}\r\nContent-Type: application/problem+json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}
