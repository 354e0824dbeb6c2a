import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { healthRoutes } from '../../../src/api/health-routes';
import { until } from '../../support/until';

test('a flood of health checks from one address waits, and the connections of those above 200 a second are closed', async () => {
  const { slowDown } = healthRoutes({ checkDatabase: () => Promise.resolve('ok'), isServing: () => true });
  let answered = 0;
  const check = (ip: string) => {
    const socket = new Socket();
    const ctx = { ip, req: new IncomingMessage(socket), socket, status: 404 };
    void slowDown(ctx, () => {
      answered++;
      return Promise.resolve();
    });
    return ctx;
  };
  const flood = Array.from({ length: 250 }, () => check('10.0.0.1'));
  check('10.0.0.2');
  await setImmediate();
  expect(answered).toBe(101);
  expect(flood.map(({ socket }) => socket.destroyed).indexOf(true)).toBe(200);
  expect(flood.filter(({ socket }) => socket.destroyed)).toHaveLength(50);
  await until(() => answered === 201, 'the second hundred is answered');
  check('10.0.0.1');
  await setImmediate();
  expect(answered).toBe(202);
});
