import { once } from 'node:events';
import { type Socket, connect } from 'node:net';
import { BASE } from './api';
import type { SharedStack } from './stack';

interface SlowClient {
  socket: Socket;
  /** The response, and the time until the server closed the connection. */
  end: Promise<{ text: string; afterMs: number }>;
}

/** Sends `head` and then one byte per second. */
function openSlow(url: string, head: string): SlowClient {
  const { hostname, port } = new URL(url);
  const start = performance.now();
  let text = '';
  const socket = connect(Number(port), hostname, () => socket.write(head));
  const drip = setInterval(() => socket.writable && socket.write('1'), 1000);
  socket.on('data', (data) => (text += data.toString()));
  // A write to a closed connection.
  socket.on('error', () => undefined);
  const end = once(socket, 'close').then(() => {
    clearInterval(drip);
    return { text, afterMs: performance.now() - start };
  });
  return { socket, end };
}

/** Opens clients that never finish their headers, and as many that never finish their body. */
export function openSlowClients(
  { api, seller }: SharedStack,
  ofEach: number,
): { headers: SlowClient[]; bodies: SlowClient[] } {
  const headers = `Host: x\r\nAuthorization: Bearer ${seller.key}\r\nContent-Type: application/json\r\nContent-Length: 1000`;
  const open = (head: string) => Array.from({ length: ofEach }, () => openSlow(api.url, head));
  return {
    headers: open(`POST ${BASE}/ HTTP/1.1\r\nHost: x\r\nX-Slow: `),
    bodies: open(`POST ${BASE}/seller/${seller.id}/order/ HTTP/1.1\r\n${headers}\r\n\r\n`),
  };
}
