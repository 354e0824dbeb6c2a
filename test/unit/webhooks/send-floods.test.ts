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

afterEach(stopRecordingServers);

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
