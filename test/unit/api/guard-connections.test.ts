import { EventEmitter } from 'node:events';
import type { Server } from 'node:http';
import { guardConnections } from '../../../src/api/guard-connections';

/** A guard of 100 connections, 10 per address, and a function that connects to it. */
function startGuard() {
  const server = new EventEmitter();
  guardConnections(server as unknown as Server, { maxConnections: 100 });
  return (remoteAddress: string) => {
    const socket = Object.assign(new EventEmitter(), {
      remoteAddress,
      destroyed: false,
      destroy: () => {
        socket.destroyed = true;
        setImmediate(() => socket.emit('close'));
      },
    });
    server.emit('connection', socket);
    return socket;
  };
}

test('an address that uses all its connections closes its own, and none of another address', () => {
  const connect = startGuard();
  const other = connect('10.0.0.2');
  const sockets = Array.from({ length: 15 }, () => connect('10.0.0.1'));
  expect(other.destroyed).toBe(false);
  expect(sockets.map(({ destroyed }) => destroyed)).toEqual([...Array(5).fill(true), ...Array(10).fill(false)]);
});
