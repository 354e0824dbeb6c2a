import { randomUUID } from 'node:crypto';
import { type ApiResponse, BASE } from '../../support/api';
import { expectProblem } from '../../support/problems';
import { useSharedStack } from '../../support/shared-stack';
import { createSeller } from '../../support/stack';

const stack = useSharedStack();
const detailOf = async (response: Promise<ApiResponse>, status = 404, code = 'not_found'): Promise<string> =>
  expectProblem(await response, status, code).detail;
const get = (path: string) => detailOf(stack.api.call('GET', BASE + path));

test('the path of another seller names the seller of the key, whether or not the other one exists', async () => {
  const { id } = stack.seller;
  const { seller_name: name } = (await stack.api.call('GET', `${BASE}/seller/${id}/connection_check/`)).body.data;
  const details = [randomUUID(), (await createSeller(stack.db)).id].map((other) =>
    get(`/seller/${other}/connection_check/`),
  );
  for (const detail of await Promise.all(details))
    expect(detail).toBe(
      `The key belongs to the seller ${id} (${name}), and the path names another one. ` +
        'Use this ID in the path, or the key of the other seller.',
    );
});

test('a missing order, webhook or pay link names the seller of the key, unless it is the checkout', async () => {
  const { seller, api } = stack;
  for (const path of ['/order/:id/', '/order/:id/timeline/', `/seller/${seller.id}/order/:id/`])
    expect(await get(path.replace(':id', randomUUID()))).toBe(
      `The key belongs to the seller ${seller.id}, which has no order with this ID.`,
    );
  expect(await get(`/webhook_event/${randomUUID()}/`)).toBe(
    `The key belongs to the seller ${seller.id}, which has no webhook with this ID.`,
  );
  expect(await detailOf(api.progress(randomUUID(), 'approved'))).toBe('No order has this ID.');
});

test.each([
  ['/order/123/', 'The order ID in the path is not a UUID. Use the `id` in the response that created the order.'],
  [
    '/order/INV-1001/timeline/',
    'The order ID in the path is not a UUID. Use the `id` in the response that created the order.',
  ],
  ['/webhook_event/msg_1/', 'The webhook ID in the path is not a UUID. Use the header `webhook-id` of the webhook.'],
])('an id that is no UUID is named: %s', async (path, detail) => {
  expect(await get(path)).toBe(detail);
});

test.each(['{order_id}', ':order_id', '${ORDER_ID}', 'undefined'])(
  'a placeholder in the path is named: %s',
  async (placeholder) => {
    const { id } = stack.seller;
    for (const written of [placeholder, encodeURIComponent(placeholder)]) {
      expect(await get(`/order/${written}/`)).toBe(
        `The order ID in the path is the placeholder ${placeholder}. Use the \`id\` in the response that created the order.`,
      );
      expect(await get(`/seller/${written}/order/`)).toBe(
        `The seller ID in the path is the placeholder ${placeholder}. Use ${id}, to which the key belongs.`,
      );
    }
  },
);

test('a path that does not exist says where the paths are, and how to cancel', async () => {
  const { api, seller } = stack;
  const id = randomUUID();
  for (const path of [`/order/${id}/cancel/`, `/order/${id}/cancel`, `/seller/${seller.id}/order/${id}/cancel/`])
    expect(await detailOf(api.call('POST', BASE + path))).toBe(
      `No resource exists at this path. To cancel an order, send DELETE to ${BASE}/order/<order_id>/.`,
    );
  for (const path of ['/order//', '/seller//order/', '/order//cancel/'])
    expect(await get(path)).toBe('No resource exists at this path. It contains //: an ID is empty.');
  expect(await get('/orders/')).toBe('No resource exists at this path. The API reference at /docs/ lists all paths.');
  expect(await detailOf(api.call('GET', `/order/${id}/`))).toBe(
    `No resource exists at this path. The paths of the API begin with ${BASE}/, and the API reference at /docs/ lists them.`,
  );
});

test('an Authorization header without an API key says what it has instead, and repeats no secret', async () => {
  const { api, seller } = stack;
  const detail = (Authorization: string) =>
    detailOf(api.get(randomUUID(), { key: null, headers: { Authorization } }), 401, 'unauthorized');
  for (const secret of [seller.webhookSecret, `"${seller.webhookSecret}"`, 'whsec_AAAA+BBB/CC=='])
    expect(await detail(`Bearer ${secret}`)).toMatch(
      /^The value after Bearer is a webhook secret, which verifies webhooks, and not an API key\. Send /,
    );
  expect(await detail(`Bearer ${seller.id}`)).toMatch(
    /^The value after Bearer is a UUID, such as a seller ID, and not /,
  );
  for (const placeholder of ['<key>', '$SELLER_API_KEY', '{{api_key}}', 'undefined'])
    expect(await detail(`Bearer ${placeholder}`)).toMatch(/^The value after Bearer is a placeholder for an API key\. /);
  for (const key of [seller.key, `"${seller.key}"`])
    expect(await detail(key)).toMatch(/^The header Authorization has a key without "Bearer " before it\. /);
});
