import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../../../tools/local-stack/ports';
import { takeSlot } from '../../chaos/slots';

test('a third runner waits until one of two slots is free', async () => {
  const ports = [await freePort(), await freePort()];
  const [first, second] = [await takeSlot(ports), await takeSlot(ports)];
  let hasThird = false;
  const third = takeSlot(ports).finally(() => (hasThird = true));
  await delay(400);
  expect(hasThird).toBe(false);
  first();
  (await third)();
  second();
});
