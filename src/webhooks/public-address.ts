import { BlockList, isIP } from 'node:net';

/**
 * Ranges that are not public: the IANA special-purpose registry, multicast, and Azure's host address (168.63.129.16).
 */
const REFUSED_IPV4 = subnets('ipv4', [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '168.63.129.16/32',
]);

/** Global unicast. All other IPv6 ranges (local NAT64, unique local, link local, `::7f00:1`) are internal or unassigned. */
const GLOBAL_IPV6 = subnets('ipv6', ['2000::/3']);

/** Ranges within it that are not public: protocol assignments and Teredo, documentation, 6to4, AS112. */
const REFUSED_IPV6 = subnets('ipv6', ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20', '2620:4f:8000::/48']);

/** The prefix of NAT64. A resolver with DNS64 returns such addresses for every host that has IPv4 only. */
const NAT64 = subnets('ipv6', ['64:ff9b::/96']);

const MAPPED_IPV4 = subnets('ipv6', ['::ffff:0:0/96']);

/**
 * True for a public IP address. An IPv6 address that maps or translates an IPv4 address counts as that address. False for text that `net.isIP`
 * does not accept and for an address with a zone (`fe80::1%eth0`).
 */
export function isPublicAddress(ip: string): boolean {
  const version = isIP(ip);
  if (version === 0 || ip.includes('%')) return false;
  if (version === 4) return !REFUSED_IPV4.check(ip, 'ipv4');
  // A BlockList checks a mapped address against its IPv4 rules.
  if (MAPPED_IPV4.check(ip, 'ipv6')) return !REFUSED_IPV4.check(ip, 'ipv6');
  if (NAT64.check(ip, 'ipv6')) return !REFUSED_IPV4.check(embeddedIpv4(ip), 'ipv4');
  return GLOBAL_IPV6.check(ip, 'ipv6') && !REFUSED_IPV6.check(ip, 'ipv6');
}

/** The IPv4 address in the last 32 bits of an IPv6 address. */
function embeddedIpv4(ip: string): string {
  // The URL parser writes every notation in hexadecimal.
  const groups = new URL(`http://[${ip}]/`).hostname.slice(1, -1).split(':');
  const [high = 0, low = 0] = groups.slice(-2).map((group) => Number.parseInt(group || '0', 16));
  return [high >>> 8, high & 255, low >>> 8, low & 255].join('.');
}

function subnets(family: 'ipv4' | 'ipv6', list: string[]): BlockList {
  const blocks = new BlockList();
  for (const subnet of list) {
    const [network = '', prefix] = subnet.split('/');
    blocks.addSubnet(network, Number(prefix), family);
  }
  return blocks;
}
