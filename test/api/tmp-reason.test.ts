import { openOrder, timelineOf } from '../support/orders';
import { startStack } from '../support/stack';
test('x', async () => {
  const stack = await startStack();
  const id = await openOrder(stack);
  const reason = '🎉'.repeat(400);
  await stack.api.progress(id, 'signup_started', reason);
  const got = (await timelineOf(stack, id)).at(-1)!.reason!;
  console.log(got.length, reason.length, [...got].length);
  await stack.stop();
});
