import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../../../tools/local-stack/ports';
import { takeLoadTurn } from '../../chaos/load-turn';

test('a second runner waits until the load of the first one has ended', async () => {
  const port = await freePort();
  const endFirst = await takeLoadTurn(port);
  let hasSecond = false;
  const second = takeLoadTurn(port).finally(() => (hasSecond = true));
  await delay(400);
  expect(hasSecond).toBe(false);
  endFirst();
  (await second)();
});
