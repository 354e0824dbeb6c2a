import type { Socket } from 'node:net';
import { startRecordingServer, startRecordingTcpServer, startRecordingTlsServer } from '../../support/recording-server';
import { selfSigned } from '../../support/self-signed';
import { lookupReturning } from './lookup';
import { LONG_TIMEOUT_MS, expectClosed, sender, stopAll, webhook } from '../../support/sending';

afterEach(stopAll);

/** What the kernels of both sides buffer, measured at up to 6 MB on loopback, and the 128 KiB that are read. */
const MAX_SENT = 16 * 1024 * 1024;

const FLOODS: [string, string, string][] = [
  ['103 responses', '', 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'.repeat(1000)],
  ['a status line', 'HTTP/1.1 200 ', 'o'.repeat(64 * 1024)],
  ['a chunk extension', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5;', 'e'.repeat(64 * 1024)],
];

/** Sends as much as the connection takes. */
function flood(socket: Socket, start: string, text: string): void {
  const bytes = Buffer.from(text);
  const pump = (): void => {
    while (!socket.destroyed && socket.write(bytes));
  };
  socket.on('drain', pump);
  socket.write(start);
  pump();
}

test.each(FLOODS)('an endless flood of %s ends the attempt after about 128 KiB', async (what, start, text) => {
  const receiver = await startRecordingTcpServer((socket) => socket.once('data', () => flood(socket, start, text)));
  const attempt = await sender().send(webhook(`http://127.0.0.1:${receiver.port}/`));
  expect(attempt).toMatchObject(
    what === 'a chunk extension'
      ? { status: 200, outcome: 'delivered', error: null, responseBody: '' }
      : { status: null, outcome: 'failed', error: 'invalid_response', errorDetail: 'sent more than 128 KiB' },
  );
  expect(attempt.durationMs).toBeLessThan(LONG_TIMEOUT_MS / 2);
  await expectClosed(receiver.sockets[0]);
  expect(receiver.sockets[0]!.bytesWritten).toBeLessThan(MAX_SENT);
});

test('an endless flood over TLS ends the attempt after about 128 KiB', async () => {
  const pair = selfSigned('hook.example');
  const receiver = await startRecordingTlsServer(pair, ({ socket }) =>
    flood(socket, ...(FLOODS[0]!.slice(1) as [string, string])),
  );
  const { send } = sender({ ca: pair.cert, lookup: lookupReturning(['127.0.0.1']) });
  const attempt = await send(webhook(`https://hook.example:${receiver.port}/`));
  expect(attempt).toMatchObject({ status: null, error: 'invalid_response', errorDetail: 'sent more than 128 KiB' });
  expect(attempt.durationMs).toBeLessThan(LONG_TIMEOUT_MS / 2);
});

test.each([
  'HTTP/1.1 000 OK\r\n\r\n',
  'HTTP/1.1 099 OK\r\ncontent-length: 0\r\n\r\n',
  'HTTP/1.1 101 Switching\r\n\r\n',
])('the response %j is invalid, with an error that names no library', async (text) => {
  const receiver = await startRecordingTcpServer((socket) => socket.once('data', () => socket.end(text)));
  const attempt = await sender().send(webhook(`http://127.0.0.1:${receiver.port}/`));
  expect(attempt).toMatchObject({ status: null, outcome: 'failed', error: 'invalid_response' });
  expect(attempt.errorDetail).toBe('the response is not valid HTTP');
});

test('a response of 100 KiB in many 103 responses and headers is not cut off', async () => {
  const receiver = await startRecordingServer((_request, response) => {
    for (let count = 0; count < 2000; count++) response.writeEarlyHints({ link: `</${'a'.repeat(10)}>` });
    response.end('thanks');
  });
  const attempt = await sender().send(webhook(`http://127.0.0.1:${receiver.port}/`));
  expect(attempt).toMatchObject({ status: 200, outcome: 'delivered', responseBody: 'thanks' });
});
