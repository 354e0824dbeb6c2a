import {
  startRecordingServer,
  startRecordingTcpServer,
  startRecordingTlsServer,
  stopRecordingServers,
} from '../../support/recording-server';
import { selfSigned } from '../../support/self-signed';
import { lookupReturning } from './lookup';
import { LONG_TIMEOUT_MS, SHORT_TIMEOUT_MS, sender, webhook } from '../../support/sending';

const policy = { allowPrivate: true, allowHttp: false };
const trusted = selfSigned('hook.example');

afterEach(stopRecordingServers);

/** Makes two attempts at a receiver on 127.0.0.1, whatever its host name is. */
async function sendTo(origin: string, ca?: string, timeoutMs = LONG_TIMEOUT_MS) {
  const { send } = sender({ policy, timeoutMs, lookup: lookupReturning(['127.0.0.1']), ca });
  return [await send(webhook(`${origin}/`)), await send(webhook(`${origin}/`))];
}

describe('a webhook over TLS', () => {
  test.each(['hook.example', 'hook.example.'])(
    'to %s is delivered, under its name without a last dot',
    async (host) => {
      const names: unknown[] = [];
      const receiver = await startRecordingTlsServer(trusted, (request, response) => {
        const socket: any = request.socket;
        names.push(socket.servername);
        response.end('thanks');
      });
      for (const attempt of await sendTo(`https://${host}:${receiver.port}`, trusted.cert)) {
        expect(attempt).toMatchObject({ status: 200, outcome: 'delivered', error: null, address: '127.0.0.1' });
      }
      expect(names).toEqual(['hook.example', 'hook.example']);
    },
  );

  test.each([
    ['is self-signed', selfSigned('hook.example'), undefined, 'self-signed certificate'],
    ['has expired', selfSigned('hook.example', { expired: true }), 'own', 'certificate has expired'],
    ['is for another name', selfSigned('other.example'), 'own', "does not match certificate's altnames"],
  ])('is not delivered if the certificate %s', async (_what, pair, trust, detail) => {
    const receiver = await startRecordingTlsServer(pair, (_request, response) => response.end());
    for (const attempt of await sendTo(`https://hook.example:${receiver.port}`, trust && pair.cert)) {
      expect(attempt).toMatchObject({ status: null, outcome: 'failed', error: 'tls' });
      expect(attempt.errorDetail).toContain(detail);
    }
    expect(receiver.received).toHaveLength(0);
  });

  test('is not delivered to a receiver that speaks plain HTTP', async () => {
    const receiver = await startRecordingServer((_request, response) => response.end());
    const [attempt] = await sendTo(`https://hook.example:${receiver.port}`);
    expect(attempt).toMatchObject({ status: null, outcome: 'failed', error: 'tls' });
  });

  test('fails at the deadline if the handshake does not complete', async () => {
    const receiver = await startRecordingTcpServer(() => undefined);
    const [attempt] = await sendTo(`https://hook.example:${receiver.port}`, undefined, SHORT_TIMEOUT_MS);
    expect(attempt).toMatchObject({ status: null, outcome: 'failed', error: 'timeout', address: null });
  });
});
