import type { Server, Socket } from 'node:net';
import Koa from 'koa';
import { listen } from '../../../src/api/http-server';
import { HTTP } from '../../support/http-settings';

test('errors after the start are reported, and the server continues', async () => {
  let server: Server | undefined;
  const app = new Koa();
  app.use((ctx) => {
    ({ server } = ctx.socket as Socket & { server: Server });
    ctx.status = 204;
  });
  const onError = jest.fn();
  const http = await listen(app, 0, '127.0.0.1', HTTP, onError);
  const respond = async (): Promise<number> => (await fetch(`http://127.0.0.1:${http.port}/`)).status;
  try {
    await respond();
    const errors = [new Error('accept EMFILE'), new Error('accept ENFILE')];
    for (const error of errors) server?.emit('error', error);
    expect(onError.mock.calls).toEqual(errors.map((error) => [error]));
    expect(await respond()).toBe(204);
  } finally {
    await http.close(0);
  }
});
