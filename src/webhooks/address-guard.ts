import { lookup as systemLookup } from 'node:dns';
import { isIP, type LookupFunction, type Socket } from 'node:net';
import { buildConnector } from 'undici';
import { limitEncryptedBytesRead, limitSessionTickets } from './response-limits';
import { isPublicAddress } from './public-address';
import { checkPort, checkScheme, withoutBrackets, type AddressPolicy } from './webhook-url';

/** The policy refuses the target. Nothing was sent to it. */
class AddressRefusedError extends Error {
  readonly code = 'ERR_ADDRESS_REFUSED';
}

interface ConnectorOptions {
  /** Resolves names. Default: `dns.lookup`. */
  lookup?: LookupFunction | undefined;
  /** Limit for name lookup, connection and TLS handshake together, in milliseconds. Default: undici's 10 s. */
  timeoutMs?: number | undefined;
  /** Trusted root certificates in PEM. Default: Node's own. */
  ca?: string | undefined;
}

/**
 * An undici connector that enforces a policy at the socket, where nothing can bypass it. A literal address skips the
 * lookup, and a name can resolve differently on each lookup, so the connector checks literals, every address that the
 * lookup returns, and the address of the open socket, before TLS begins. Refused targets fail with an `AddressRefusedError`.
 */
export function guardedConnector(policy: AddressPolicy, options: ConnectorOptions = {}): buildConnector.connector {
  const limit = options.timeoutMs !== undefined && { timeout: options.timeoutMs };
  const connectTcp = buildConnector({
    lookup: policy.allowPrivate ? (options.lookup ?? systemLookup) : guardedLookup(options.lookup ?? systemLookup),
    // Node's default of 250 ms per address is too short for a distant receiver with two addresses.
    autoSelectFamilyAttemptTimeout: 1000,
    ...limit,
  });
  const startTls = buildConnector({ ...limit, ...(options.ca !== undefined && { ca: options.ca }) });
  return (target, callback) => {
    const refusal = refuseTarget(target, policy);
    if (refusal !== undefined) {
      queueMicrotask(() => callback(new AddressRefusedError(refusal), null));
      return;
    }
    const isTls = target.protocol === 'https:';
    const port = target.port || (isTls ? '443' : '80');
    connectTcp({ ...target, port, protocol: 'http:' }, (error, socket) => {
      if (error !== null) {
        callback(error, null);
        return;
      }
      const refused = policy.allowPrivate ? undefined : refuseSocket(socket);
      if (refused !== undefined) {
        socket.destroy();
        callback(refused, null);
      } else if (isTls) {
        limitEncryptedBytesRead(socket);
        startTls({ ...target, httpSocket: socket }, onSecured(socket, callback));
      } else {
        callback(null, socket);
      }
    });
  };
}

function onSecured(connection: Socket, callback: buildConnector.Callback): buildConnector.Callback {
  return (error, secured) => {
    if (error !== null) {
      callback(error, null);
      return;
    }
    limitSessionTickets(secured);
    connection.on('error', (reason: Error) => secured.destroy(reason));
    callback(null, secured);
  };
}

function refuseSocket({ remoteAddress }: Socket): Error | undefined {
  if (remoteAddress === undefined) {
    return Object.assign(new Error('the connection closed immediately'), { code: 'ECONNRESET' });
  }
  if (isPublicAddress(remoteAddress)) return undefined;
  return new AddressRefusedError('the connection led to an address that is not public');
}

function refuseTarget(target: buildConnector.Options, policy: AddressPolicy): string | undefined {
  const host = withoutBrackets(target.hostname);
  if (!policy.allowPrivate && isIP(host) !== 0 && !isPublicAddress(host)) return 'the address is not public';
  return checkScheme(target.protocol, policy) ?? checkPort(target.protocol, target.port, policy);
}

/** Refuses a name if any of its addresses is not public, because Node chooses which one it connects to. */
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
