import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import {
  startRecordingServer,
  startRecordingTcpServer,
  startRecordingTlsServer,
  stopRecordingServers,
} from '../../support/recording-server';
import { selfSigned } from '../../support/self-signed';
import { lookupReturning } from './lookup';
import { expectClosed, sender, webhook } from '../../support/sending';

const onTestEnd: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of onTestEnd.splice(0)) step();
  await stopRecordingServers();
});

const TICKET_FLOOD = `
import socket, ssl, sys, tempfile, threading
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.num_tickets = 1_000_000
with tempfile.NamedTemporaryFile() as pair:
    pair.write(sys.argv[1].encode())
    pair.flush()
    context.load_cert_chain(pair.name)
listener = socket.create_server(("127.0.0.1", 0))
def answer(connection):
    try:
        context.wrap_socket(connection, server_side=True)
    except OSError:
        pass
def serve():
    while True:
        threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()
threading.Thread(target=serve, daemon=True).start()
print(listener.getsockname()[1], flush=True)
sys.stdin.read()
`;

/** What the kernels of both sides buffer, measured at up to 6 MB on loopback, and the 128 KiB that are read. */
const MAX_SENT = 16 * 1024 * 1024;

const FLOODS: [string, string, string][] = [
  ['103 responses', '', 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'.repeat(1000)],
  ['a status line', 'HTTP/1.1 200 ', 'o'.repeat(64 * 1024)],
  ['a chunk extension', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5;', 'e'.repeat(64 * 1024)],
  ['chunks of a byte', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n', '1\r\n\0\r\n'.repeat(1000)],
];

/** Node's parser counts the status line as a header. */
const LIMITS: Record<string, string> = {
  '103 responses': 'sent more than 128 KiB',
  'a status line': 'the response has more than 16 KiB of headers',
};

/** Sends as much as the connection takes. */
function flood(socket: Socket, start: string, repeated: string | Buffer): void {
  const bytes = Buffer.from(repeated);
  const pump = (): void => {
    while (!socket.destroyed && socket.write(bytes));
  };
  socket.on('drain', pump);
  if (start !== '') socket.write(start);
  pump();
}

/** A TLS server that sends a million session tickets after the handshake. Node's server sends two, so it is Python's. */
async function startTicketFlood({ key, cert }: { key: string; cert: string }): Promise<{ port: number }> {
  const server = spawn('python3', ['-c', TICKET_FLOOD, key + cert], { stdio: ['pipe', 'pipe', 'inherit'] });
  // A signal would end only the launcher of a version manager.
  onTestEnd.push(() => server.stdin.end());
  const [port] = (await once(server.stdout, 'data')) as [Buffer];
  return { port: Number(port) };
}

test.each(FLOODS)('an endless flood of %s ends the attempt', async (what, start, text) => {
  const receiver = await startRecordingTcpServer((socket) => socket.once('data', () => flood(socket, start, text)));
  const attempt = await sender().send(webhook(`http://127.0.0.1:${receiver.port}/`));
  expect(attempt).toMatchObject(
    LIMITS[what] === undefined
      ? { status: 200, outcome: 'delivered', error: null, responseBody: '' }
      : { status: null, outcome: 'failed', error: 'invalid_response', errorDetail: LIMITS[what] },
  );
  await expectClosed(receiver.sockets[0]);
  expect(receiver.sockets[0]!.bytesWritten).toBeLessThan(MAX_SENT);
});

test('an endless flood over TLS ends the attempt', async () => {
  const pair = selfSigned('hook.example');
  const receiver = await startRecordingTlsServer(pair, ({ socket }) =>
    flood(socket, ...(FLOODS[0]!.slice(1) as [string, string])),
  );
  const { send } = sender({ ca: pair.cert, lookup: lookupReturning(['127.0.0.1']) });
  const attempt = await send(webhook(`https://hook.example:${receiver.port}/`));
  expect(attempt).toMatchObject({ status: null, error: 'invalid_response', errorDetail: LIMITS['103 responses'] });
});

test('an endless handshake over TLS ends the attempt', async () => {
  // A client that waits for the server's answer ignores requests to begin a handshake, however many there are.
  const record = Buffer.concat([Buffer.from([0x16, 3, 3, 0x40, 0]), Buffer.alloc(0x4000)]);
  const receiver = await startRecordingTcpServer((socket) => flood(socket, '', record));
  const { send } = sender({ lookup: lookupReturning(['127.0.0.1']) });
  const attempt = await send(webhook(`https://hook.example:${receiver.port}/`));
  expect(attempt).toMatchObject({ error: 'invalid_response', errorDetail: 'sent more than 128 KiB' });
  await expectClosed(receiver.sockets[0]);
});

test('an endless response over TLS in records of one byte ends the attempt', async () => {
  const pair = selfSigned('hook.example');
  const interim = `HTTP/1.1 103 Early Hints\r\nlink: ${'a'.repeat(15_000)}\r\n\r\n`;
  let sent = -1;
  const receiver = await startRecordingTlsServer(pair, ({ socket }) => {
    const next = (): void => {
      sent += 1;
      if (!socket.destroyed) socket.write(interim.charAt(sent % interim.length), () => setImmediate(next));
    };
    socket.write(interim, next);
  });
  const { send } = sender({ ca: pair.cert, lookup: lookupReturning(['127.0.0.1']) });
  const attempt = await send(webhook(`https://hook.example:${receiver.port}/`));
  expect(attempt).toMatchObject({ error: 'invalid_response', errorDetail: 'sent more than 128 KiB' });
  expect(sent).toBeLessThan(16 * 1024);
});

test('endless TLS session tickets end the attempt, and do not stop the sender', async () => {
  const pair = selfSigned('hook.example');
  const receiver = await startTicketFlood(pair);
  const { send } = sender({ ca: pair.cert, lookup: lookupReturning(['127.0.0.1']) });
  const url = `https://hook.example:${receiver.port}/`;
  const attempts = await Promise.all(Array.from({ length: 5 }, () => send(webhook(url))));
  for (const attempt of attempts) {
    expect(attempt).toMatchObject({ error: 'invalid_response', errorDetail: 'sent more than 128 KiB' });
  }
});

test.each([
  'HTTP/1.1 000 OK\r\n\r\n',
  'HTTP/1.1 099 OK\r\ncontent-length: 0\r\n\r\n',
  'HTTP/1.1 101 Switching\r\n\r\n',
  'HTTP/1.1 101 Switching\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n',
  'HTTP/1.1 200 OK\r\nno colon\r\n\r\n',
])('the response %j is invalid, with an error that names no library', async (text) => {
  const receiver = await startRecordingTcpServer((socket) => socket.once('data', () => socket.end(text)));
  const attempt = await sender().send(webhook(`http://127.0.0.1:${receiver.port}/`));
  expect(attempt).toMatchObject({ status: null, outcome: 'failed', error: 'invalid_response' });
  expect(attempt.errorDetail).toMatch(/^the response is not valid HTTP: [a-z0-9, ]+$/i);
});

test('a response after fifty 103 responses is read', async () => {
  const receiver = await startRecordingServer((_request, response) => {
    for (let count = 0; count < 50; count++) response.writeEarlyHints({ link: `</${'a'.repeat(10)}>` });
    response.end('thanks');
  });
  const attempt = await sender().send(webhook(`http://127.0.0.1:${receiver.port}/`));
  expect(attempt).toMatchObject({ status: 200, outcome: 'delivered', responseBody: 'thanks' });
});
