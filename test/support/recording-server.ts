import { type IncomingHttpHeaders, type RequestListener, createServer } from 'node:http';
import { type ServerOptions, createServer as createTlsServer } from 'node:https';
import { type Server, type Socket, createServer as createTcpServer } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { type TestServer, listen } from './listening-server';

interface ReceivedRequest {
  method: string;
  url: string;
  headers: IncomingHttpHeaders;
  body: string;
}

/** A server that records what it receives, down to its connections. It can respond in any way, including none. */
export interface RecordingServer {
  port: number;
  /** Complete requests, in the order of arrival. */
  received: ReceivedRequest[];
  /** All connections, including closed ones. */
  sockets: Socket[];
}

const running = new Set<TestServer>();

/** For `afterEach`: stops every recording server. */
export async function stopRecordingServers(): Promise<void> {
  const servers = [...running];
  running.clear();
  await Promise.all(servers.map((server) => server.close()));
}

/** Starts an HTTP server that calls `respond` once it has the whole request. */
export function startRecordingServer(respond: RequestListener): Promise<RecordingServer> {
  const received: ReceivedRequest[] = [];
  return record(createServer(recorder(received, respond)), received);
}

export function startRecordingTlsServer(options: ServerOptions, respond: RequestListener): Promise<RecordingServer> {
  const received: ReceivedRequest[] = [];
  return record(createTlsServer(options, recorder(received, respond)), received);
}

export function startRecordingTcpServer(onConnection: (socket: Socket) => void): Promise<RecordingServer> {
  return record(createTcpServer(onConnection), []);
}

function recorder(received: ReceivedRequest[], respond: RequestListener): RequestListener {
  return (request, response) => {
    void readText(request).then(
      (body) => {
        const { method = '', url = '', headers } = request;
        received.push({ method, url, headers, body });
        respond(request, response);
      },
      () => undefined,
    );
  };
}

async function record(server: Server, received: ReceivedRequest[]): Promise<RecordingServer> {
  const sockets: Socket[] = [];
  server.on('connection', (socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined);
  });
  server.on('tlsClientError', () => undefined);
  const listening = await listen(server);
  running.add(listening);
  return { port: listening.port, received, sockets };
}
