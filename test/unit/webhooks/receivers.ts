import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http';
import { createServer as createTlsServer, type ServerOptions } from 'node:https';
import {
  createServer as createTcpServer,
  type AddressInfo,
  type LookupFunction,
  type Server,
  type Socket,
} from 'node:net';

interface Received {
  method: string;
  url: string;
  headers: IncomingHttpHeaders;
  body: string;
}

export interface Receiver {
  port: number;
  /** Complete requests, in the order of arrival. */
  received: Received[];
  /** All connections, including closed ones. */
  sockets: Socket[];
  /** When each connection opened, in Unix milliseconds. */
  connectedAt: number[];
}

const servers = new Set<{ server: Server; sockets: Socket[] }>();

/** Stops every receiver that a test has started. */
export async function stopReceivers(): Promise<void> {
  for (const { server, sockets } of servers) {
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of sockets) socket.destroy();
    await closed;
  }
  servers.clear();
}

/** Starts an HTTP server on 127.0.0.1 that responds once it has the whole request. */
export function startReceiver(answer: RequestListener): Promise<Receiver> {
  const received: Received[] = [];
  return listen(createServer(recorder(received, answer)), received);
}

export function startTlsReceiver(options: ServerOptions, answer: RequestListener): Promise<Receiver> {
  const received: Received[] = [];
  return listen(createTlsServer(options, recorder(received, answer)), received);
}

/** Starts a plain TCP server on 127.0.0.1. */
export function startTcpReceiver(onConnection: (socket: Socket) => void): Promise<Receiver> {
  return listen(createTcpServer(onConnection), []);
}

/** Returns a port of 127.0.0.1 that nothing listens on. */
export async function closedPort(): Promise<number> {
  const server = createTcpServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Waits up to a second for a receiver's connection to close. Returns true if it did. */
export async function closedBySender(socket: Socket | undefined): Promise<boolean> {
  const until = Date.now() + 1000;
  while (socket?.destroyed === false && Date.now() < until) await new Promise((resolve) => setTimeout(resolve, 5));
  return socket?.destroyed ?? false;
}

/** A lookup that returns these answers in turn, then repeats the last one. */
export function answering(...answers: string[][]): LookupFunction & { calls: number } {
  const lookup = Object.assign(
    ((_name, _options, callback) => {
      const answer = answers[Math.min(lookup.calls++, answers.length - 1)] ?? [];
      const addresses = answer.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
      process.nextTick(callback, null, addresses);
    }) satisfies LookupFunction,
    { calls: 0 },
  );
  return lookup;
}

function recorder(received: Received[], answer: RequestListener): RequestListener {
  return (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('error', () => undefined);
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      received.push({ method, url, headers, body: Buffer.concat(chunks).toString() });
      answer(request, response);
    });
  };
}

async function listen(server: Server, received: Received[]): Promise<Receiver> {
  const sockets: Socket[] = [];
  const connectedAt: number[] = [];
  server.on('connection', (socket) => {
    sockets.push(socket);
    connectedAt.push(Date.now());
    socket.on('error', () => undefined);
  });
  server.on('tlsClientError', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  servers.add({ server, sockets });
  return { port: (server.address() as AddressInfo).port, received, sockets, connectedAt };
}
