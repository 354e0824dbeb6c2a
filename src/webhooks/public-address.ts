import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

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
