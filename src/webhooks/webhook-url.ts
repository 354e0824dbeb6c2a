import { isIP } from 'node:net';
import { isPublicAddress } from './public-address';

/** Where webhooks may go. Production says false twice. */
export interface AddressPolicy {
  /** Loopback, private and otherwise reserved targets, on any port. */
  allowPrivate: boolean;
  /** Plain http beside https. */
  allowHttp: boolean;
}

const LONGEST_URL = 2048;

/** What the URL parser would drop or rewrite, so that two readers see two hosts: blanks, controls, `\`, lone surrogates. */
const REWRITTEN = /[\s\\\p{Cc}\p{Cf}\p{Cs}]/u;

/** The parser also takes `https:host` and `https:////host`. */
const SCHEME_AND_AUTHORITY = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]+)/i;

/**
 * Why a URL cannot be a webhook target, by its syntax or its literal address, in words that follow the name of a
 * field ("must use https"); undefined if it can. Resolves no name: the connector judges what a name leads to.
 */
export function checkWebhookUrl(url: string, policy: AddressPolicy): string | undefined {
  if (url.length > LONGEST_URL) return `must not be longer than ${LONGEST_URL} characters`;
  if (REWRITTEN.test(url)) return 'must not contain white space, control characters or backslashes';
  const authority = SCHEME_AND_AUTHORITY.exec(url)?.[1];
  if (authority === undefined || !URL.canParse(url)) return 'must be an absolute URL with a valid host';
  const { protocol, hostname, port } = new URL(url);
  const badScheme = checkScheme(protocol, policy);
  if (badScheme !== undefined) return badScheme;
  if (authority.includes('@')) return 'must not contain a user name or password';
  return checkHost(hostname, policy) ?? checkPort(protocol, port, policy);
}

/** `protocol` as in a URL object: with its colon. */
export function checkScheme(protocol: string, policy: AddressPolicy): string | undefined {
  if (protocol === 'https:' || (protocol === 'http:' && policy.allowHttp)) return undefined;
  return policy.allowHttp ? 'must use https or http' : 'must use https';
}

/** `port` as in a URL object: empty for the scheme's own. Low ports belong to services that are not meant to be spoken to in HTTP. */
export function checkPort(protocol: string, port: string, policy: AddressPolicy): string | undefined {
  const number = port === '' ? (protocol === 'http:' ? 80 : 443) : Number(port);
  if (policy.allowPrivate || number === 443 || number >= 1024 || (number === 80 && policy.allowHttp)) return undefined;
  return `must use port ${policy.allowHttp ? '80, 443' : '443'} or one from 1024 up`;
}

/** `hostname` as in a URL object, which has brought every notation of an address to the usual one. */
function checkHost(hostname: string, policy: AddressPolicy): string | undefined {
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
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
