import { lookup as systemLookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { buildConnector } from 'undici';
import { isPublicAddress } from './public-address';
import { checkPort, checkScheme, type AddressPolicy } from './webhook-url';

/** A target that the policy refuses; nothing was sent to it. */
export class AddressRefusedError extends Error {
  readonly code = 'ERR_ADDRESS_REFUSED';
}

export interface ConnectorOptions {
  /** Resolves names; `dns.lookup` if left out. */
  lookup?: LookupFunction | undefined;
  /** Limit for name, connection and TLS handshake together, in milliseconds; undici's 10 s if left out. */
  timeoutMs?: number | undefined;
  /** Trust anchors in PEM, in place of Node's own. */
  ca?: string | undefined;
}

/**
 * An undici connector that holds a policy where it cannot be bypassed: at the socket. A literal address skips the
 * lookup, and a name may answer otherwise than when it was last checked, so literals, every answer of the lookup and
 * the address in fact connected to are each judged. Fails with an `AddressRefusedError`.
 */
export function guardedConnector(policy: AddressPolicy, options: ConnectorOptions = {}): buildConnector.connector {
  const connect = buildConnector({
    lookup: policy.allowPrivate ? (options.lookup ?? systemLookup) : guardedLookup(options.lookup ?? systemLookup),
    // Node drops a host's first address after 250 ms, which a distant receiver with two addresses may need.
    autoSelectFamilyAttemptTimeout: 1000,
    ...(options.timeoutMs !== undefined && { timeout: options.timeoutMs }),
    ...(options.ca !== undefined && { ca: options.ca }),
  });
  return (target, callback) => {
    const refusal = refuseTarget(target, policy);
    if (refusal !== undefined) {
      queueMicrotask(() => callback(new AddressRefusedError(refusal), null));
      return;
    }
    connect(target, (error, socket) => {
      if (error !== null) {
        callback(error, null);
      } else if (policy.allowPrivate) {
        callback(null, socket);
      } else if (socket.remoteAddress === undefined) {
        socket.destroy();
        callback(Object.assign(new Error('the connection was closed at once'), { code: 'ECONNRESET' }), null);
      } else if (!isPublicAddress(socket.remoteAddress)) {
        socket.destroy();
        callback(new AddressRefusedError('the connection led to an address that is not public'), null);
      } else {
        callback(null, socket);
      }
    });
  };
}

function refuseTarget(target: buildConnector.Options, policy: AddressPolicy): string | undefined {
  const host = target.hostname.replace(/^\[(.*)\]$/, '$1');
  if (!policy.allowPrivate && isIP(host) !== 0 && !isPublicAddress(host)) return 'the address is not public';
  return checkScheme(target.protocol, policy) ?? checkPort(target.protocol, target.port, policy);
}

/** Refuses a name if any of its addresses is not public: which one is connected to is for others to choose. */
function guardedLookup(lookup: LookupFunction): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, answer, family) => {
      const addresses = typeof answer === 'string' ? [{ address: answer, family: family ?? isIP(answer) }] : answer;
      const first = error === null ? addresses[0] : undefined;
      if (error !== null) {
        callback(error, []);
      } else if (first === undefined) {
        callback(Object.assign(new Error(`no address for ${hostname}`), { code: 'ENOTFOUND' }), []);
      } else if (!addresses.every(({ address }) => isPublicAddress(address))) {
        callback(new AddressRefusedError('the host name leads to an address that is not public'), []);
      } else if (options.all === true) {
        callback(null, addresses);
      } else {
        callback(null, first.address, first.family);
      }
    });
  };
}
