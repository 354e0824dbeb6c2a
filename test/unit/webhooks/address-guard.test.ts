import type { LookupAddress } from 'node:dns';
import { getDefaultAutoSelectFamily, setDefaultAutoSelectFamily, type LookupFunction } from 'node:net';
import { Client } from 'undici';
import { guardedConnector } from '../../../src/webhooks/address-guard';
import { isPublicAddress } from '../../../src/webhooks/public-address';
import type { AddressPolicy } from '../../../src/webhooks/webhook-url';
import { type RecordingServer, startRecordingServer, stopRecordingServers } from '../../support/recording-server';
import { lookupReturning } from './lookup';
import { expectClosed } from '../../support/sending';

const httpToo = { allowPrivate: false, allowHttp: true };

let receiver: RecordingServer;

beforeEach(async () => {
  receiver = await startRecordingServer((_request, response) => response.end('inside'));
});
const autoSelectFamily = getDefaultAutoSelectFamily();
afterEach(async () => {
  setDefaultAutoSelectFamily(autoSelectFamily);
  await stopRecordingServers();
});

/** Requests through the guarded connector alone, without a check of the URL. Returns the status or the error code. */
async function request(origin: string, policy: AddressPolicy, lookup?: LookupFunction): Promise<unknown> {
  const client = new Client(origin, { connect: guardedConnector(policy, { lookup }) });
  try {
    const { statusCode, body } = await client.request({ method: 'GET', path: '/' });
    await body.dump();
    return statusCode;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code;
  } finally {
    await client.destroy();
  }
}

/** Connects to a host that no URL parser has normalized. */
function connectRaw(hostname: string, port: string, protocol = 'http:'): Promise<unknown> {
  return new Promise((resolve) => {
    guardedConnector(httpToo)({ hostname, port, protocol }, (error, socket) => {
      socket?.destroy();
      resolve(error === null ? 'connected' : (error as NodeJS.ErrnoException).code);
    });
  });
}

describe('the guarded connector', () => {
  test('connects to a private address if the policy allows it, by literal and by name', async () => {
    const local = { allowPrivate: true, allowHttp: true };
    expect(await request(`http://127.0.0.1:${receiver.port}`, local)).toBe(200);
    expect(await request(`http://hook.example:${receiver.port}`, local, lookupReturning(['127.0.0.1']))).toBe(200);
  });

  test.each([
    ['127.0.0.1'],
    ['127.0.0.1.'],
    ['127.1'],
    ['0x7f.1'],
    ['0177.0.0.1'],
    ['2130706433'],
    ['１２７.０.０.１'],
    ['0.0.0.0'],
    ['[::1]'],
    ['[::]'],
    ['[::ffff:127.0.0.1]'],
    ['[::ffff:7f00:1]'],
    ['localhost'],
    ['localhost.'],
    ['a.localhost'],
  ])('refuses %s although a server listens there', async (host) => {
    const lookup = host.includes('localhost') ? lookupReturning(['127.0.0.1']) : undefined;
    expect(await request(`http://${host}:${receiver.port}`, httpToo, lookup)).toBe('ERR_ADDRESS_REFUSED');
    expect(receiver.sockets).toHaveLength(0);
  });

  test.each(['127.0.0.1', '127.1', '2130706433', '0x7f000001', '017700000001', '::1', '[::1]', '::ffff:7f00:1'])(
    'refuses %s when no URL parser has normalized it',
    async (host) => {
      // The system's resolver does not find what it does not recognize as an address.
      expect(await connectRaw(host, String(receiver.port))).toMatch(/^(ERR_ADDRESS_REFUSED|ENOTFOUND|EAI_AGAIN)$/);
      expect(receiver.sockets).toHaveLength(0);
    },
  );

  test('refuses a name that resolves to a public address when checked and to a private one when connecting', async () => {
    const lookup = lookupReturning(['8.8.8.8'], ['127.0.0.1']);
    const checked = await new Promise<LookupAddress[]>((resolve) => {
      lookup('rebinding.example', { all: true }, (_error, addresses) => resolve(addresses as LookupAddress[]));
    });
    expect(checked.every(({ address }) => isPublicAddress(address))).toBe(true);
    expect(await request(`http://rebinding.example:${receiver.port}`, httpToo, lookup)).toBe('ERR_ADDRESS_REFUSED');
    expect(receiver.sockets).toHaveLength(0);
  });

  test('closes a connection that reached a private address past the lookup, before it sends a byte', async () => {
    let reads = 0;
    const shifting = {
      family: 4,
      get address() {
        return reads++ === 0 ? '8.8.8.8' : '127.0.0.1';
      },
    };
    const lookup: LookupFunction = (_name, _options, callback) => process.nextTick(callback, null, [shifting]);
    expect(await request(`http://shifting.example:${receiver.port}`, httpToo, lookup)).toBe('ERR_ADDRESS_REFUSED');
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
  ])('refuses a name if any of its addresses is not public: %j', async (addresses) => {
    expect(await request(`http://mixed.example:${receiver.port}`, httpToo, lookupReturning(addresses))).toBe(
      'ERR_ADDRESS_REFUSED',
    );
    expect(receiver.sockets).toHaveLength(0);
  });

  test('checks a lookup that returns one address as a string', async () => {
    const lookup: LookupFunction = (_name, _options, callback) => process.nextTick(callback, null, '127.0.0.1', 4);
    expect(await request(`http://one.example:${receiver.port}`, httpToo, lookup)).toBe('ERR_ADDRESS_REFUSED');
  });

  test('reports a lookup without addresses as an unknown name', async () => {
    expect(await request(`http://none.example:${receiver.port}`, httpToo, lookupReturning([]))).toBe('ENOTFOUND');
  });

  test('requests all addresses of a name even if Node wants one', async () => {
    setDefaultAutoSelectFamily(false);
    const asked: unknown[] = [];
    const lookup: LookupFunction = (_name, options, callback) => {
      asked.push(options.all);
      process.nextTick(callback, null, [{ address: '10.0.0.1', family: 4 }]);
    };
    await request('http://name.example', httpToo, lookup);
    expect(asked).toEqual([true]);
  });

  test('enforces the rules for port and scheme on its own', async () => {
    const lookup = lookupReturning(['8.8.8.8']);
    expect(await request('http://ports.example:22', httpToo, lookup)).toBe('ERR_ADDRESS_REFUSED');
    expect(await request('https://ports.example:80', { ...httpToo, allowHttp: false }, lookup)).toBe(
      'ERR_ADDRESS_REFUSED',
    );
    expect(await request('http://ports.example:8080', { ...httpToo, allowHttp: false }, lookup)).toBe(
      'ERR_ADDRESS_REFUSED',
    );
    expect(lookup.calls).toBe(0);
  });
});
