import type { LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { isPublicAddress, type AddressPolicy, openConnection } from '../../../src/webhooks/address-guard';
import { type RecordingServer, startRecordingServer, stopRecordingServers } from '../../support/recording-server';
import { lookupReturning } from './lookup';
import { expectClosed, sender, webhook } from '../../support/sending';

const httpToo = { allowPrivate: false, allowHttp: true };

let receiver: RecordingServer;

beforeEach(async () => {
  receiver = await startRecordingServer((_request, response) => response.end('inside'));
});
afterEach(stopRecordingServers);

/** Connects without a check of the URL. Returns the error code, if it fails. */
async function connect(origin: string, policy: AddressPolicy, lookup?: LookupFunction): Promise<unknown> {
  const ended = new AbortController();
  try {
    await openConnection(new URL(origin), { policy, lookup }, ended.signal);
    return 'connected';
  } catch (error) {
    return (error as NodeJS.ErrnoException).code;
  } finally {
    ended.abort();
  }
}

describe('a guarded connection', () => {
  test('is made to a private address if the policy allows it, by literal and by name', async () => {
    const local = { allowPrivate: true, allowHttp: true };
    expect(await connect(`http://127.0.0.1:${receiver.port}`, local)).toBe('connected');
    expect(await connect(`http://hook.example:${receiver.port}`, local, lookupReturning(['127.0.0.1']))).toBe(
      'connected',
    );
  });

  test.each([['127.0.0.1'], ['１２７.０.０.１'], ['[::1]'], ['[::ffff:7f00:1]'], ['localhost'], ['a.localhost']])(
    'is not made by an attempt at %s, and brings no byte there',
    async (host) => {
      const url = `http://${host}:${receiver.port}/`;
      const lookup = lookupReturning(['127.0.0.1']);
      const attempt = await sender({ policy: httpToo, lookup }).send(webhook(url));
      expect([attempt.error, receiver.sockets.length]).toEqual(['invalid_url', 0]);
      expect(await connect(url, httpToo, lookup)).not.toBe('connected');
      expect(receiver.received).toHaveLength(0);
    },
  );

  test('is not made to a name that resolves to a public address when checked and to a private one when connecting', async () => {
    const lookup = lookupReturning(['8.8.8.8'], ['127.0.0.1']);
    const checked = await new Promise<LookupAddress[]>((resolve) => {
      lookup('rebinding.example', { all: true }, (_error, addresses) => resolve(addresses as LookupAddress[]));
    });
    expect(checked.every(({ address }) => isPublicAddress(address))).toBe(true);
    expect(await connect(`http://rebinding.example:${receiver.port}`, httpToo, lookup)).toBe('ERR_ADDRESS_REFUSED');
    expect(receiver.sockets).toHaveLength(0);
  });

  test('that reached a private address past the lookup is closed before it sends a byte', async () => {
    let reads = 0;
    const shifting = {
      family: 4,
      get address() {
        return reads++ === 0 ? '8.8.8.8' : '127.0.0.1';
      },
    };
    const lookup: LookupFunction = (_name, _options, callback) => process.nextTick(callback, null, [shifting]);
    expect(await connect(`http://shifting.example:${receiver.port}`, httpToo, lookup)).toBe('ERR_ADDRESS_REFUSED');
    expect(reads).toBeGreaterThan(1);
    expect(receiver.received).toHaveLength(0);
    await expectClosed(receiver.sockets[0]);
  });

  test.each([
    [['8.8.8.8', '127.0.0.1']],
    [['127.0.0.1', '8.8.8.8']],
    [['2606:4700::1111', '::1']],
    [['2606:4700::1111', '::ffff:a9fe:a9fe']],
    [['169.254.169.254']],
    [['not an address']],
  ])('is not made to a name if any of its addresses is not public: %j', async (addresses) => {
    expect(await connect(`http://mixed.example:${receiver.port}`, httpToo, lookupReturning(addresses))).toBe(
      'ERR_ADDRESS_REFUSED',
    );
    expect(receiver.sockets).toHaveLength(0);
  });

  test('is not made after a lookup that returns one address as a string', async () => {
    const lookup: LookupFunction = (_name, _options, callback) => process.nextTick(callback, null, '127.0.0.1', 4);
    expect(await connect(`http://one.example:${receiver.port}`, httpToo, lookup)).toBe('ERR_ADDRESS_REFUSED');
  });

  test('is not made without an address', async () => {
    expect(await connect(`http://none.example:${receiver.port}`, httpToo, lookupReturning([]))).toBe(
      'ERR_ADDRESS_REFUSED',
    );
  });
});
