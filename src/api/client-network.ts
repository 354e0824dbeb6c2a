import ipaddr from 'ipaddr.js';

/**
 * The network that a limit by address counts: an IPv4 address itself, or the /64 of an IPv6 address, because one
 * machine can use any address of its /64. An IPv4-mapped address counts as the IPv4 address. A port, which some proxies
 * add, is ignored. All text that is not an address counts as one client.
 */
export function clientNetwork(ip: string): string {
  const host = ip.replace(/^\[(.*)\](:\d+)?$/, '$1').replace(/^([\d.]+):\d+$/, '$1');
  if (!ipaddr.isValid(host)) return 'unknown';
  const address = ipaddr.process(host);
  return address instanceof ipaddr.IPv4 ? address.toString() : toNetwork(address);
}

function toNetwork({ parts }: ipaddr.IPv6): string {
  return `${new ipaddr.IPv6([...parts.slice(0, 4), 0, 0, 0, 0]).toString()}/64`;
}
