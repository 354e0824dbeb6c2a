import type { LookupFunction } from 'node:net';
import { ownClock } from '../../support/clock';
import { closedPort } from '../../support/listening-server';
import { startRecordingTcpServer, stopRecordingServers } from '../../support/recording-server';
import { lookupReturning } from './lookup';
import { CONNECTED_TIMEOUT_MS, expectClosed, sender, sendTo, SHORT_TIMEOUT_MS, webhook } from '../../support/sending';

const SHORT = { timeoutMs: SHORT_TIMEOUT_MS };

afterEach(async () => {
  jest.restoreAllMocks();
  await stopRecordingServers();
});

describe('an attempt', () => {
  test('times out if no response arrives before the deadline, and closes its connection', async () => {
    const { attempt, receiver } = await sendTo(() => undefined, { timeoutMs: CONNECTED_TIMEOUT_MS });
    expect(attempt).toMatchObject({ status: null, outcome: 'failed', error: 'timeout', address: '127.0.0.1' });
    expect(attempt.errorDetail).toBe(`no answer within ${CONNECTED_TIMEOUT_MS} ms`);
    expect(attempt).toMatchObject({ connectedMs: expect.any(Number), headersMs: null });
    await expectClosed(receiver.sockets[0]);
  });

  test('times out if the headers arrive one byte at a time', async () => {
    const receiver = await startRecordingTcpServer((socket) => {
      const head = 'HTTP/1.1 200 OK\r\nX-Pad: ';
      let sent = 0;
      const drip = setInterval(() => socket.write(head.charAt(sent++) || 'a'), 5);
      socket.on('close', () => clearInterval(drip));
    });
    const attempt = await sender(SHORT).send(webhook(`http://127.0.0.1:${receiver.port}/`));
    expect(attempt).toMatchObject({ status: null, outcome: 'failed', error: 'timeout' });
  });

  test('times out if the receiver sends 103 Early Hints forever', async () => {
    const receiver = await startRecordingTcpServer((socket) => {
      const drip = setInterval(() => socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'), 20);
      socket.on('close', () => clearInterval(drip));
    });
    const attempt = await sender(SHORT).send(webhook(`http://127.0.0.1:${receiver.port}/`));
    expect(attempt).toMatchObject({ status: null, outcome: 'failed', error: 'timeout' });
  });

  test('times out if the name lookup never returns', async () => {
    const lookup: LookupFunction = () => undefined;
    const attempt = await sender({ lookup, ...SHORT }).send(webhook('http://silent.example/'));
    expect(attempt).toMatchObject({ status: null, error: 'timeout', address: null });
    expect(attempt).toMatchObject({ connectedMs: null, headersMs: null });
  });

  test('fails with dns if the name is unknown', async () => {
    const lookup: LookupFunction = (name, _options, callback) => {
      const error = Object.assign(new Error(`getaddrinfo ENOTFOUND ${name}`), {
        code: 'ENOTFOUND',
        syscall: 'getaddrinfo',
      });
      process.nextTick(callback, error, []);
    };
    const attempt = await sender({ lookup }).send(webhook('http://unknown.example/'));
    expect(attempt).toMatchObject({ status: null, outcome: 'failed', error: 'dns', address: null });
    expect(attempt.errorDetail).toBe('the host name does not lead to a public address');
    expect(attempt.operatorDetail).toBe('getaddrinfo ENOTFOUND unknown.example');
  });

  test('takes a second without a usable address, whether the name is internal or unknown', async () => {
    const unknown = Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND', syscall: 'getaddrinfo' });
    const clock = ownClock();
    const late: LookupFunction = (_name, _options, callback) => {
      clock.pass(300);
      process.nextTick(callback, unknown, []);
    };
    const policy = { allowPrivate: false, allowHttp: true };
    for (const lookup of [lookupReturning(['10.0.0.1']), late]) {
      const attempt = await sender({ lookup, policy }).send(webhook('http://x.example/'));
      expect(attempt).toMatchObject({ error: 'dns', durationMs: 1000 });
    }
    expect(clock.delays).toEqual([1000, 700]);
  });

  test('fails with dns, not refused, if the resolver refuses the connection', async () => {
    const lookup: LookupFunction = (_name, _options, callback) => {
      const error = Object.assign(new Error('queryA ECONNREFUSED'), { code: 'ECONNREFUSED', syscall: 'queryA' });
      process.nextTick(callback, error, []);
    };
    expect((await sender({ lookup }).send(webhook('http://unknown.example/'))).error).toBe('dns');
  });

  test('fails with refused if nothing listens at its address or at any of several', async () => {
    const port = await closedPort();
    const one = await sender().send(webhook(`http://127.0.0.1:${port}/`));
    expect(one).toMatchObject({ status: null, outcome: 'failed', error: 'refused', address: null });
    const lookup = lookupReturning(['127.0.0.1', '127.0.0.2']);
    const several = await sender({ lookup }).send(webhook(`http://several.example:${port}/`));
    expect(several).toMatchObject({ error: 'refused', errorDetail: expect.stringMatching(/./) });
  });

  test.each([
    ['resets the connection', 'reset'],
    ['closes it without a response', 'close'],
  ])('fails with reset if the receiver reads the request and %s', async (_what, how) => {
    const { attempt, receiver } = await sendTo(({ socket }) =>
      how === 'reset' ? socket?.resetAndDestroy() : socket?.end(),
    );
    expect(receiver.received).toHaveLength(1);
    expect(attempt).toMatchObject({ status: null, outcome: 'failed', error: 'reset', address: '127.0.0.1' });
  });
});
