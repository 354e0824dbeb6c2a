import { gzipSync } from 'node:zlib';
import { failure } from '../../../src/webhooks/send';
import { startRecordingServer, startRecordingTcpServer, stopRecordingServers } from '../../support/recording-server';
import { expectClosed, sender, sendTo, CONNECTED_TIMEOUT_MS, webhook } from '../../support/sending';

afterEach(stopRecordingServers);

describe('an answer', () => {
  test.each([
    ['100 Continue', 'HTTP/1.1 100 Continue\r\n\r\n'],
    [
      '102 Processing and 103 Early Hints',
      'HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n',
    ],
  ])('after %s is the 200 that follows', async (_what, interim) => {
    const receiver = await startRecordingTcpServer((socket) =>
      socket.once('data', () => {
        socket.write(interim);
        setTimeout(() => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nthanks'), 20);
      }),
    );
    const attempt = await sender().send(webhook(`http://127.0.0.1:${receiver.port}/`));
    expect(attempt).toMatchObject({ status: 200, outcome: 'delivered', error: null, responseBody: 'thanks' });
  });

  test('with folded headers is read, its folds as spaces', async () => {
    const answer = 'HTTP/1.1 503 Busy\r\nx-note: a\r\n\tb\r\nretry-after:\r\n 120\r\ncontent-length: 4\r\n\r\nbusy';
    const receiver = await startRecordingTcpServer((socket) => socket.once('data', () => socket.end(answer)));
    const attempt = await sender().send(webhook(`http://127.0.0.1:${receiver.port}/`));
    expect(attempt).toMatchObject({ status: 503, error: 'http_status', retryAfterMs: 120_000, responseBody: 'busy' });
  });

  test.each([
    ['lines that end with LF alone', 'HTTP/1.1 200 OK\ncontent-length: 2\n\nok'],
    ['a control character in a header', 'HTTP/1.1 200 OK\r\nx-a: a\x01b\r\n\r\nok'],
    ['two framings', 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n'],
    ['an upgrade on offer', 'HTTP/1.1 200 OK\r\nupgrade: h2c\r\nconnection: upgrade\r\ncontent-length: 2\r\n\r\nok'],
  ])('with %s is read', async (_what, answer) => {
    const receiver = await startRecordingTcpServer((socket) => socket.once('data', () => socket.end(answer)));
    const attempt = await sender().send(webhook(`http://127.0.0.1:${receiver.port}/`));
    expect(attempt).toMatchObject({ status: 200, outcome: 'delivered', responseBody: 'ok' });
  });
});

describe('a response', () => {
  test('without an end is cut off after about 64 KiB', async () => {
    const chunk = Buffer.alloc(16 * 1024, 'x');
    const { attempt, receiver } = await sendTo((response) => {
      const pump = () => {
        while (!response.destroyed && response.write(chunk));
      };
      response.on('drain', pump);
      pump();
    });
    expect(attempt).toMatchObject({ status: 200, outcome: 'delivered', responseBody: 'x'.repeat(1024) });
    await expectClosed(receiver.sockets[0]);
    // The remainder is in the kernel's buffers.
    expect(receiver.sockets[0]!.bytesWritten).toBeLessThan(16 * 1024 * 1024);
  });

  test('of 60 KiB is read completely, so that the receiver sees no broken connection', async () => {
    const half = Buffer.alloc(30 * 1024, 'y');
    let finished: Promise<boolean> | undefined;
    const { attempt } = await sendTo((response) => {
      finished = new Promise((resolve) => {
        response.on('close', () => resolve(response.writableFinished));
      });
      response.write(half);
      setTimeout(() => response.end(half), 100);
    });
    expect(attempt.responseBody).toBe('y'.repeat(1024));
    expect(await finished).toBe(true);
  });

  test('that is a gzip bomb is not decompressed', async () => {
    const bomb = gzipSync(Buffer.alloc(20 * 1024 * 1024, 'z'));
    const { attempt, receiver } = await sendTo((response) =>
      response.writeHead(200, { 'content-encoding': 'gzip', 'content-length': bomb.length }).end(bomb),
    );
    expect(receiver.received[0]!.headers['accept-encoding']).toBe('identity');
    expect(attempt.outcome).toBe('delivered');
    expect(attempt.responseBody).not.toContain('zzzz');
    expect(Buffer.byteLength(attempt.responseBody)).toBeLessThanOrEqual(1024);
  });

  test.each<[string, Buffer, string]>([
    ['NUL', Buffer.from('a\0b\0'), 'ab'],
    ['bad UTF-8', Buffer.from([0x61, 0xff, 0xc3, 0x28]), 'a\ufffd\ufffd('],
    ['a character across the 1 KiB mark', Buffer.from(`${'a'.repeat(1021)}🛒`), 'a'.repeat(1021)],
    ['bad UTF-8 throughout', Buffer.alloc(2000, 0xff), '\ufffd'.repeat(341)],
    ['an encoded surrogate', Buffer.from([0x61, 0xed, 0xa0, 0x80]), 'a\ufffd\ufffd\ufffd'],
    ['an empty body', Buffer.alloc(0), ''],
  ])('with %s is kept as text that Postgres accepts', async (_what, bytes, text) => {
    const { attempt } = await sendTo((response) => response.end(bytes));
    expect(attempt.responseBody).toBe(text);
    expect(Buffer.from(text).toString()).toBe(text);
  });

  test('that is not HTTP or has endless headers is invalid', async () => {
    const other = await startRecordingTcpServer((socket) =>
      socket.once('data', () => socket.end('SSH-2.0-OpenSSH_9.0\r\n')),
    );
    const endless = await startRecordingTcpServer((socket) =>
      socket.once('data', () => socket.write(`HTTP/1.1 200 OK\r\n${'X-Pad: 0123456789\r\n'.repeat(5000)}`)),
    );
    for (const { port } of [other, endless]) {
      const attempt = await sender().send(webhook(`http://127.0.0.1:${port}/`));
      expect(attempt).toMatchObject({ status: null, outcome: 'failed', error: 'invalid_response' });
    }
  });
});

describe('an attempt that the receiver rejects', () => {
  test.each([400, 401, 404, 500, 502, 599])('fails with status %i', async (status) => {
    const { attempt } = await sendTo((response) => response.writeHead(status, { 'retry-after': '9' }).end('oh\nno'));
    expect(attempt).toMatchObject({
      status,
      outcome: 'failed',
      error: 'http_status',
      errorDetail: `answered ${status}`,
    });
    expect(attempt).toMatchObject({ responseBody: 'oh\nno', retryAfterMs: null });
  });

  test.each([429, 503])(
    'returns the wait of a %i with Retry-After, in seconds or as a date by the clock of the signature',
    async (status) => {
      const inSeconds = await sendTo((response) => response.writeHead(status, { 'retry-after': '120' }).end());
      expect(inSeconds.attempt).toMatchObject({
        status,
        outcome: 'failed',
        error: 'http_status',
        retryAfterMs: 120_000,
      });
      const date = new Date(webhook('').timestamp * 1000 + 3_600_000).toUTCString();
      const byDate = await sendTo((response) => response.writeHead(status, { 'retry-after': date }).end());
      expect(byDate.attempt.retryAfterMs).toBeGreaterThan(3_500_000);
      expect(byDate.attempt.retryAfterMs).toBeLessThanOrEqual(3_600_000);
      const without = await sendTo((response) => response.writeHead(status).end());
      expect(without.attempt.retryAfterMs).toBeNull();
    },
  );

  test('has the outcome gone with status 410', async () => {
    const { attempt } = await sendTo((response) => response.writeHead(410, { 'retry-after': '9' }).end());
    expect(attempt).toMatchObject({ status: 410, outcome: 'gone', error: 'http_status', retryAfterMs: null });
  });

  test.each([301, 302, 303, 307, 308])('does not follow a %i redirect to an internal address', async (status) => {
    const inside = await startRecordingServer((_request, response) => response.end('secret'));
    const location = `http://127.0.0.1:${inside.port}/latest/meta-data/`;
    const { attempt } = await sendTo((response) => response.writeHead(status, { location }).end());
    expect(attempt).toMatchObject({ status, outcome: 'failed', error: 'redirect' });
    expect(attempt.errorDetail).toBe(`answered ${status} (to ${location}); redirects are not followed`);
    expect(inside.sockets).toHaveLength(0);
  });

  test('has an error detail of one bounded line of plain text', async () => {
    const location = `/${'a\t\u0080'.repeat(500)}`;
    const { attempt } = await sendTo((response) => response.writeHead(302, { location }).end());
    expect(attempt.errorDetail).toMatch(/^answered 302 \(to \/[^\p{Cc}]*$/u);
    expect(attempt.errorDetail).toHaveLength(300);
  });

  test('fails with its status even if the body does not end in time', async () => {
    const { attempt } = await sendTo((response) => response.writeHead(500).write('slow'), {
      timeoutMs: CONNECTED_TIMEOUT_MS,
    });
    expect(attempt).toMatchObject({ status: 500, outcome: 'failed', error: 'http_status', responseBody: 'slow' });
  });
});

test('a detail from outside is one line without characters that control a terminal or the direction of text', () => {
  expect(failure('invalid_response', 'a\u202eb\u001b[31mc\nd\u009be').errorDetail).toBe('a b [31mc d e');
});
