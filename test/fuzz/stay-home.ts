import net from 'node:net';

const LOOPBACK = /^(localhost|127(\.\d+){3}|::1)$/;
/** Nobody listens there. */
const NOBODY = { host: '127.0.0.1', port: 1 };

/**
 * Keeps this process's connections on this machine: the addresses that are made up for webhooks could belong to somebody.
 * They seem to refuse the connection; no name is looked up.
 */
export function stayHome(): void {
  // eslint-disable-next-line @typescript-eslint/unbound-method -- it is applied to the socket it was called on
  const connect = net.Socket.prototype.connect as (...args: any[]) => net.Socket;
  net.Socket.prototype.connect = function (this: net.Socket, ...args: any[]) {
    // Node itself passes what it made of the arguments: an array with the options first.
    const [first] = args;
    const options = Array.isArray(first)
      ? first[0]
      : typeof first === 'object'
        ? first
        : { port: first, host: args[1] };
    if (options.path === undefined && !LOOPBACK.test(options.host ?? 'localhost')) Object.assign(options, NOBODY);
    return connect.apply(this, typeof first === 'object' ? args : [options, args.at(-1)]);
  } as typeof net.Socket.prototype.connect;
}
