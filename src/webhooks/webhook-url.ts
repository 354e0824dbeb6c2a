import { isIP } from 'node:net';
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

export function portOf({ port, protocol }: URL): number {
  return port === '' ? (protocol === 'http:' ? 80 : 443) : Number(port);
}

/** Refuses the ports below 1024 that belong to services other than HTTP. */
function checkPort(port: number, policy: AddressPolicy): string | undefined {
  if (policy.allowPrivate || port === 443 || port >= 1024 || (port === 80 && policy.allowHttp)) return undefined;
  return `must use port ${policy.allowHttp ? '80, 443' : '443'} or a port from 1024`;
}

/** A host name as in a URL object, without the brackets of an IPv6 address. */
export const withoutBrackets = (hostname: string): string => hostname.replace(/^\[(.*)\]$/, '$1');

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
