import { isIPv6 } from 'node:net';

const GROUPS = 8;
const NETWORK_GROUPS = 4;

/**
 * Whom an address stands for: an IPv4 address for itself, an IPv6 one for its /64, within which a single machine takes
 * any address it likes. An IPv4-mapped address is the IPv4 one; a port, which some proxies add, counts for nothing.
 */
export function clientNetwork(ip: string): string {
  const address = ip
    .replace(/^\[(.*)\](:\d+)?$/, '$1')
    .replace(/^([\d.]+):\d+$/, '$1')
    .replace(/^::ffff:(?=\d+\.)/i, '')
    .replace(/%.*/, '');
  if (!isIPv6(address)) return address;
  // A URL holds the one spelling that an address has: lower case, no needless zeros, no dotted part.
  const spelt = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [head = [], tail = []] = spelt.split('::').map((part) => part.split(':').filter(Boolean));
  const zeros = Array<string>(GROUPS - head.length - tail.length).fill('0');
  return `${[...head, ...zeros, ...tail].slice(0, NETWORK_GROUPS).join(':')}::/64`;
}
