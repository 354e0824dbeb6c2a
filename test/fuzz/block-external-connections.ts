import net from 'node:net';

const LOOPBACK = /^(localhost|127(\.\d+){3}|::1)$/;
/** Nothing listens at this address. */
const CLOSED_PORT = { host: '127.0.0.1', port: 1 };

/**
 * Makes all connections of this process to other machines fail like refused ones, without a DNS lookup: the URLs that
 * Schemathesis generates for webhooks could belong to somebody.
 */
export function blockExternalConnections(): void {
  // eslint-disable-next-line @typescript-eslint/unbound-method -- it is called with `apply` below
  const connect = net.Socket.prototype.connect as (...args: any[]) => net.Socket;
  net.Socket.prototype.connect = function (this: net.Socket, ...args: any[]) {
    // Node's own calls pass normalized arguments: an array that starts with the options.
    const [first] = args;
    const options = Array.isArray(first)
      ? first[0]
      : typeof first === 'object'
        ? first
        : { port: first, host: args[1] };
    if (options.path === undefined && !LOOPBACK.test(options.host ?? 'localhost')) Object.assign(options, CLOSED_PORT);
    return connect.apply(this, typeof first === 'object' ? args : [options, args.at(-1)]);
  } as typeof net.Socket.prototype.connect;
}
