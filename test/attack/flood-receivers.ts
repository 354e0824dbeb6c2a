import { type Socket, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { listen } from '../support/listening-server';

const CHUNK = 64 * 1024;
const SLOW_MS = 1000;

/** The start of a response, and what follows it without an end. */
const FLOODS: [string, string][] = [
  ['', 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'],
  ['HTTP/1.1 200 ', 'x'],
  ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;', 'x'],
  ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n', '1\r\nx\r\n'],
];

/** Starts webhook endpoints that send as fast as the connection takes it, and one that takes a second. */
export async function floodReceivers() {
  let connections = 0;
  let bytesSent = 0;
  const floods = await Promise.all(
    FLOODS.map(([start, part]) => {
      const bytes = Buffer.from(part.repeat(Math.ceil(CHUNK / part.length)));
      return listen(
        createServer((socket) => {
          connections++;
          socket.on('error', () => undefined).on('close', () => (bytesSent += socket.bytesWritten));
          socket.once('data', () => {
            socket.write(start);
            flood(socket, bytes);
          });
        }),
      );
    }),
  );
  const slow = await listen(
    createServer((socket) => {
      socket.on('error', () => undefined);
      socket.once(
        'data',
        () => void delay(SLOW_MS).then(() => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')),
      );
    }),
  );
  return {
    urls: floods.map(({ url }) => `${url}/`),
    slowUrl: `${slow.url}/`,
    connections: () => connections,
    bytesSent: () => bytesSent,
    close: () => Promise.all([...floods, slow].map((server) => server.close())),
  };
}

function flood(socket: Socket, bytes: Buffer): void {
  const pump = (): void => {
    if (socket.destroyed) return;
    if (socket.write(bytes)) setImmediate(pump);
    else socket.once('drain', pump);
  };
  pump();
}
