import { lookup as systemLookup } from 'node:dns';
import { once } from 'node:events';
import { type LookupFunction, type Socket, connect, isIP } from 'node:net';
import { connect as startTls } from 'node:tls';
import { isPublicAddress, portOf, withoutBrackets, type AddressPolicy } from './webhook-url';

/** Limits all that a receiver sends, encrypted or not: certificates, 1xx responses, headers, chunks and their extensions. */
const MAX_BYTES = 128 * 1024;
const CHECK_MS = 50;

/** The policy refuses the target. Nothing was sent to it. */
class AddressRefusedError extends Error {
  readonly code = 'ERR_ADDRESS_REFUSED';
}

export interface ConnectionOptions {
  policy: AddressPolicy;
  /** Resolves names. Default: `dns.lookup`. */
  lookup?: LookupFunction | undefined;
  /** Trusted root certificates in PEM. Default: Node's own. */
  ca?: string | undefined;
}

export interface Connection {
  socket: Socket;
  /** Destroys the socket if too much has arrived. Call it whenever the socket has read something. */
  checkBytesRead: (socket: Socket) => void;
}

/**
 * Connects to the server of a webhook URL that `checkWebhookUrl` accepts. Enforces the policy where nothing can bypass it: a
 * name can resolve differently on each lookup, so every address that the lookup returns is checked, and the address of the
 * open socket, before TLS begins.
 * @param signal ends the connection, also later. Abort it only in an event of its own: see `limitBytesRead`
 */
export async function openConnection(
  url: URL,
  { policy, lookup = systemLookup, ca }: ConnectionOptions,
  signal: AbortSignal,
): Promise<Connection> {
  const host = withoutBrackets(url.hostname);
  const connection = connect({
    host,
    port: portOf(url),
    lookup: policy.allowPrivate ? lookup : guardedLookup(lookup),
    autoSelectFamily: true,
    // Node's default of 250 ms per address is too short for a distant receiver with two addresses.
    autoSelectFamilyAttemptTimeout: 1000,
    signal,
  });
  const checkBytesRead = limitBytesRead(connection);
  await connected(connection, 'connect');
  if (!policy.allowPrivate) refusePrivate(connection);
  if (url.protocol === 'http:') return { socket: connection, checkBytesRead };

  // Certificates and servers do not know the dot that ends a fully qualified name.
  const name = isIP(host) === 0 ? { servername: host.replace(/\.$/, '') } : {};
  const secured = startTls({ socket: connection, host, ...name, ca, ALPNProtocols: ['http/1.1'] });
  // Session tickets take time to read, and are no byte of the response.
  secured.on('session', () => checkBytesRead(secured));
  await connected(secured, 'secureConnect');
  return { socket: secured, checkBytesRead };
}

async function connected(socket: Socket, event: 'connect' | 'secureConnect'): Promise<void> {
  // Without a listener, a late error would end the process.
  socket.on('error', () => undefined);
  await once(socket, event);
}

function refusePrivate(connection: Socket): void {
  const { remoteAddress } = connection;
  if (remoteAddress !== undefined && isPublicAddress(remoteAddress)) return;
  connection.destroy();
  throw remoteAddress === undefined
    ? Object.assign(new Error('the connection closed immediately'), { code: 'ECONNRESET' })
    : new AddressRefusedError('the connection led to an address that is not public');
}

/** Refuses a name if any of its addresses is not public, because Node chooses which one it connects to. */
function guardedLookup(lookup: LookupFunction): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      const isPublic =
        Array.isArray(addresses) && addresses.length > 0 && addresses.every(({ address }) => isPublicAddress(address));
      const refusal = isPublic ? null : new AddressRefusedError('the host name leads to an address that is not public');
      callback(error ?? refusal, addresses);
    });
  };
}

/**
 * Ends a TCP connection on which more arrives than any response needs. TLS reads from it without an event, so a timer checks
 * it too.
 * @returns the check, to call when a socket has read something. It destroys that socket: Node crashes if the connection
 * is destroyed while TLS reads from it
 */
function limitBytesRead(connection: Socket): (socket: Socket) => void {
  const check = (socket: Socket): void => {
    if (connection.bytesRead <= MAX_BYTES) return;
    const error = new Error(`sent more than ${MAX_BYTES / 1024} KiB`);
    socket.destroy(Object.assign(error, { code: 'ERR_RESPONSE_TOO_LARGE' }));
  };
  const timer = setInterval(check, CHECK_MS, connection);
  connection.once('close', () => clearInterval(timer));
  return check;
}
