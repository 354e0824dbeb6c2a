import { lookup as systemLookup } from 'node:dns';
import { once } from 'node:events';
import { type LookupFunction, type Socket, connect, isIP } from 'node:net';
import { connect as startTls } from 'node:tls';
import ipaddr from 'ipaddr.js';
import { checkWebUrl } from '../domain/web-url';

/**
 * Which targets webhooks may have. In production, both are true if operators allow private addresses, otherwise false.
 */
export interface AddressPolicy {
  /** Allows loopback, private and reserved addresses, on any port. */
  allowPrivate: boolean;
  /** Allows http in addition to https. */
  allowHttp: boolean;
}

/**
 * Checks the syntax and the literal address of a webhook URL. Returns the reason to refuse it, to follow a field name
 * ("must use https"), or undefined. Does not resolve names: the connector checks their addresses.
 */
export function checkWebhookUrl(url: string, policy: AddressPolicy): string | undefined {
  const reason = checkWebUrl(url);
  if (reason !== undefined) return reason;
  const parsed = new URL(url);
  if (parsed.protocol === 'http:' && !policy.allowHttp) return 'must use https';
  return checkHost(parsed.hostname, policy) ?? checkPort(portOf(parsed), policy);
}

function portOf({ port, protocol }: URL): number {
  return port === '' ? (protocol === 'http:' ? 80 : 443) : Number(port);
}

/** Refuses the ports below 1024 that belong to services other than HTTP. */
function checkPort(port: number, policy: AddressPolicy): string | undefined {
  if (policy.allowPrivate || port === 443 || port >= 1024 || (port === 80 && policy.allowHttp)) return undefined;
  return `must use port ${policy.allowHttp ? '80, 443' : '443'} or a port from 1024`;
}

/** A host name as in a URL object, without the brackets of an IPv6 address. */
const withoutBrackets = (hostname: string): string => hostname.replace(/^\[(.*)\]$/, '$1');

/** @param hostname as in a URL object, which normalizes every notation of an address */
function checkHost(hostname: string, policy: AddressPolicy): string | undefined {
  const host = withoutBrackets(hostname);
  if (isIP(host) !== 0) {
    return policy.allowPrivate || isPublicAddress(host) ? undefined : 'must not point to a private or reserved address';
  }
  const name = host.replace(/\.$/, '');
  const labels = name.split('.');
  if (name.length > 253 || labels.some((label) => label === '' || label.length > 63))
    return 'must have a valid host name';
  if (policy.allowPrivate) return undefined;
  if (labels.at(-1) === 'localhost') return 'must not point to localhost';
  return labels.length === 1 ? 'must have a full host name, with a domain' : undefined;
}

/** Where Azure's host answers: a public address by its range. */
const AZURE_HOST = '168.63.129.16';
/** The prefix of NAT64. A resolver with DNS64 returns such addresses for every host that has IPv4 only. */
const NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96');

/**
 * True for a public IP address. An IPv6 address that maps or translates an IPv4 address counts as that address. False for
 * text that `net.isIP` does not accept and for an address with a zone (`fe80::1%eth0`).
 */
export function isPublicAddress(ip: string): boolean {
  // ipaddr.js reads `::1.2.3.4`, which is no public address, as `::ffff:1.2.3.4`.
  if (isIP(ip) === 0 || /%|^::\d+\./.test(ip)) return false;
  const address = ipaddr.process(ip);
  if (address instanceof ipaddr.IPv4) return isPublicIpv4(address);
  if (address.match(NAT64)) return isPublicIpv4(new ipaddr.IPv4(address.toByteArray().slice(-4)));
  // Outside 2000::/3, `unicast` also means unassigned.
  return (address.parts[0] ?? 0) >> 13 === 1 && address.range() === 'unicast';
}

const isPublicIpv4 = (address: ipaddr.IPv4): boolean =>
  address.range() === 'unicast' && address.toString() !== AZURE_HOST;

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
