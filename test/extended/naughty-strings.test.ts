import { BASE } from '../support/api';
import { inBatches } from '../support/in-batches';
import { plainReferences, plainTexts } from '../support/naughty-strings';
import { openOrder } from '../support/orders';
import { useReceiver } from '../support/receiver';
import { useStack } from '../support/stack';
import { until } from '../support/until';

jest.setTimeout(600_000);

const stack = useStack({ env: { UPDATE_TIMEOUT_MS: '60000' } });
const receiver = useReceiver();

/** Joins the texts, in order, into as few pieces of at most `max` characters as possible. */
function packed(texts: readonly string[], max: number): string[] {
  const pieces: string[] = [];
  for (const text of texts) {
    const longer = pieces.length > 0 ? `${pieces.at(-1)!} ${text}` : text;
    if (pieces.length > 0 && Array.from(longer).length <= max) pieces[pieces.length - 1] = longer;
    else pieces.push(text);
  }
  return pieces;
}

test('naughty strings in every text field are returned and reach the webhook and the timeline unchanged', async () => {
  const references = packed(plainReferences(), 255);
  const reasons = packed(plainTexts(500), 500);
  expect(references.some((text) => Buffer.byteLength(text) > 1000)).toBe(true);
  expect(references.length).toBeGreaterThan(reasons.length);
  // No JSON object may have this key.
  const texts = plainTexts(100).filter((text) => text !== '__proto__');
  await inBatches([...references.entries()], 10, async ([index, reference]) => {
    const reason = reasons[index % reasons.length]!;
    const own = texts.filter((_, place) => place % references.length === index);
    const meta_data = Object.fromEntries(own.map((text) => [text, { nested: [text] }]));
    const fields = { reference, source: own[0], meta_data };
    const id = await openOrder(stack, { ...fields, webhook_url: receiver.url });
    expect((await stack.api.get(id)).body.data).toMatchObject(fields);
    expect((await stack.api.progress(id, 'failed', reason)).status).toBe(200);
    const delivery = await until(
      () => receiver.deliveries.find(({ body }) => body.data.order.id === id),
      'the webhook has arrived',
    );
    expect(delivery.body.data).toMatchObject({ reason, order: fields });
    const { body } = await stack.api.call('GET', `${BASE}/order/${id}/timeline/`);
    expect(body.data[1]).toMatchObject({ type: 'change', event: 'failed', reason });
  });
});
