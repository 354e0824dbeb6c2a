import { listActions } from '../../../src/db/operator-actions';
import { BASE } from '../../support/api';
import { openOrder } from '../../support/orders';
import { portalVisitor } from '../../support/portal';
import { useReceiver } from '../../support/receiver';
import { useStack, withNewSeller } from '../../support/stack';
import { until } from '../../support/until';
import { freePort } from '../../../tools/local-stack/ports';

const stack = useStack({ env: { WEBHOOK_RETRY_DELAYS: '0' } });
const receiver = useReceiver('test');
const WEBHOOKS = '/portal/webhooks/';
const DEVELOPERS = '/portal/developers/';

async function newShop(session: object = { user: 'Ada' }) {
  const { seller, api } = await withNewSeller(stack);
  const visitor = portalVisitor({ api, seller });
  await visitor.signIn(session);
  const order = (data: object = {}) => openOrder({ ...stack, api }, data as Record<string, unknown>, ['failed']);
  return { seller, api, order, ...visitor };
}
/** The text that a person reads. */
const words = ({ text }: { text: string }): string =>
  text
    .replace(/<style>.*?<\/style>/s, '')
    .replace(/<[^>]+>/g, ' ')
    .replace(/\s+/g, ' ');
const webhookIds = ({ text }: { text: string }): string[] =>
  [...text.matchAll(/\/portal\/webhooks\/([0-9a-f-]{36})\/resend\//g)].map(([, id]) => id!);

test('the page Webhooks says why webhooks do not arrive, and a person repairs it without a program', async () => {
  const shop = await newShop();
  const mistyped = `http://127.0.0.1:${await freePort()}/hoks`;
  const { origin } = new URL(mistyped);
  await shop.order({ webhook_url: mistyped, reference: '<img src=x onerror=alert(1)>' });
  const page = await until(async () => {
    const found = await shop.get(WEBHOOKS);
    return words(found).includes(`Webhooks fail at ${mistyped}`) ? found : undefined;
  }, 'the webhook is given up');
  expect(words(page)).toMatch(
    new RegExp(`No answer ${origin} since .* Your server refused .* Webhooks fail at ${mistyped}`),
  );
  expect(page.text).not.toContain('<img');
  expect(page.text).toContain('&lt;img src=x');
  expect(words(await shop.get('/portal/overview/'))).toContain('Webhooks given up in the last 30 days: 1');

  // Its link leads to the address form, which names the origin that is replaced.
  const [, elsewhere = ''] = /href="([^"]+)">Send elsewhere/.exec(page.text) ?? [];
  const form = await shop.get(elsewhere.replaceAll('&amp;', '&'));
  expect(form.text).toMatch(new RegExp(`<textarea[^>]*>\\s*${origin}</textarea`));
  const saved = await shop.submit(DEVELOPERS, `${DEVELOPERS}address/`, {
    url: receiver.url,
    replaces: `${origin}\r\n`,
  });
  expect([saved.status, saved.headers.get('Location')]).toEqual([303, `${WEBHOOKS}?state=pending&done=address`]);
  const since = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
  const resent = await shop.submit(WEBHOOKS, `${WEBHOOKS}resend/`, { state: 'exhausted', since });
  expect(resent.headers.get('Location')).toBe(`${WEBHOOKS}?done=resending`);
  await until(() => receiver.deliveries.length === 1, 'the webhook arrives');
  const [, orderPath = ''] = /href="(\/portal\/orders\/[^"]+)"><strong>&lt;img/.exec(page.text) ?? [];
  expect(words(await shop.get(orderPath))).toContain(`Webhooks go to ${receiver.url}`);
  expect(words(await shop.get(`${WEBHOOKS}?done=resending`))).toContain('The webhooks are being sent again');

  const actions = await listActions(stack.db, { operator: `seller ${shop.seller.id}` }, 10);
  expect(actions.map(({ command, outcome }) => [command, outcome])).toEqual([
    ['portal webhooks resend', 'succeeded'],
    ['portal webhook-endpoint set', 'succeeded'],
    ['portal sign in', 'succeeded'],
  ]);
  expect(actions[0]!.arguments).toMatchObject({
    ...{ seller: shop.seller.id, user: 'Ada', session: expect.stringMatching(/^[0-9a-f-]{36}$/), state: 'exhausted' },
  });
});

test('of a server that answers, only the URL that fails is replaced', async () => {
  const shop = await newShop();
  const wrong = new URL('/hoks', receiver.url).href;
  receiver.answerWith(404);
  await shop.order({ webhook_url: wrong });
  const givenUp = async () => webhookIds(await shop.get(`${WEBHOOKS}?state=exhausted`)).length === 1;
  await until(givenUp, 'the webhook is given up');
  receiver.answerWith(200);
  await shop.order({ webhook_url: receiver.url });
  await until(() => receiver.deliveries.length === 2, 'the other webhook arrives');
  const page = await until(async () => {
    const found = await shop.get(WEBHOOKS);
    return words(found).includes('Answering') ? found : undefined;
  }, 'the endpoint is answering');
  expect(words(page)).toContain(`Webhooks fail at ${wrong}`);
  expect(page.text).toContain(`replaces=${encodeURIComponent(wrong)}#address">Send elsewhere`);
  // That of a webhook that is delivered is on its order's page.
  expect(webhookIds(page)).toHaveLength(1);
});

test("one webhook is resent by its button, and another seller's webhook is a 404 that sends nothing", async () => {
  const [shop, other] = [await newShop(), await newShop()];
  receiver.answerWith(500);
  await shop.order({ webhook_url: receiver.url });
  const [id] = await until(async () => {
    const ids = webhookIds(await shop.get(`${WEBHOOKS}?state=exhausted`));
    return ids.length === 1 ? ids : undefined;
  }, 'the webhook is given up');
  const action = `${WEBHOOKS}${id}/resend/`;
  expect((await other.submit(WEBHOOKS, action)).status).toBe(404);
  expect(webhookIds(await other.get(WEBHOOKS))).toEqual([]);
  receiver.answerWith(200);
  expect((await shop.submit(WEBHOOKS, action)).headers.get('Location')).toMatch(
    /\/portal\/orders\/[0-9a-f-]{36}\/\?done=resent$/,
  );
  await until(async () => words(await shop.get(WEBHOOKS)).includes('2 attempts'), 'the webhook is delivered');
  expect(receiver.deliveries).toHaveLength(2);
  const [denied] = await listActions(stack.db, { operator: `seller ${other.seller.id}` }, 1);
  expect(denied).toMatchObject({ command: 'portal webhook resend', outcome: 'failed', arguments: { webhookId: id } });
});

test('a test webhook shows the response of the server, escaped, and an invalid URL what is wrong', async () => {
  const shop = await newShop();
  receiver.answerWith(503);
  const tested = await shop.submit(WEBHOOKS, `${WEBHOOKS}test/`, { url: receiver.url });
  expect(words(tested)).toMatch(/The test webhook failed 503 after \d+ ms .*thanks/);
  const refused = await shop.submit(WEBHOOKS, `${WEBHOOKS}test/`, { url: 'javascript:alert(1)' });
  expect([refused.status, words(refused)]).toEqual([422, expect.stringContaining('must be an absolute http(s) URL')]);
});

test('a leaked key is replaced: a new one is shown once, the old one is revoked after a question', async () => {
  const shop = await newShop();
  const created = await shop.submit(DEVELOPERS, `${DEVELOPERS}keys/`, { label: 'Web <b>shop' });
  const [, key = ''] = /<pre>(sk_[\w-]+)<\/pre>/.exec(created.text) ?? [];
  const works = async (apiKey: string) =>
    (await shop.api.call('GET', `${BASE}/seller/${shop.seller.id}/connection_check/`, { key: apiKey })).status;
  expect(await works(key)).toBe(200);
  const page = await shop.get(DEVELOPERS);
  expect(page.text).not.toContain(key);
  expect(words(page)).toContain('Web &lt;b&gt;shop');
  // Both are used within this hour.
  expect(words(page).match(/last used [^,]*, \d\d:00/g)).toHaveLength(2);

  const { rows } = await stack.db.query('select id from api_key where seller_id = $1 order by id', [shop.seller.id]);
  const revoke = (id: string) => `${DEVELOPERS}keys/${id}/revoke/`;
  const question = await shop.get(revoke(rows[1]!.id));
  expect(words(question)).toContain('This cannot be undone');
  const other = await newShop();
  expect((await other.get(revoke(rows[1]!.id))).status).toBe(404);
  expect((await other.submit(DEVELOPERS, revoke(rows[1]!.id))).status).toBe(404);
  expect(await works(key)).toBe(200);
  expect(words(await shop.submit(revoke(rows[1]!.id), revoke(rows[1]!.id)))).toContain('The API key is revoked');
  await until(async () => (await works(key)) === 401, 'the key has stopped working');
  // That of the session.
  expect(words(await shop.submit(revoke(rows[0]!.id), revoke(rows[0]!.id)))).toContain('The API key is revoked');
  expect((await shop.get(DEVELOPERS)).status).toBe(401);
});

test('the secret is rotated and static headers are set, whose values are neither shown nor in the audit log', async () => {
  const shop = await newShop();
  const rotated = await shop.submit(DEVELOPERS, `${DEVELOPERS}secret/`, { overlap: '0' });
  expect(rotated.text).toMatch(/<pre>whsec_[\w+/=]+<\/pre>/);
  const headers = { origin: new URL(receiver.url).origin, headers: 'X-Gateway: secret-value\n\nX-Two:2' };
  expect((await shop.submit(DEVELOPERS, `${DEVELOPERS}headers/`, headers)).status).toBe(303);
  const page = words(await shop.get(DEVELOPERS));
  expect(page).toContain(`Webhooks to ${headers.origin} have: x-gateway, x-two.`);
  expect(page).not.toContain('secret-value');
  await shop.submit(WEBHOOKS, `${WEBHOOKS}test/`, { url: receiver.url });
  expect(receiver.deliveries[0]!.headers).toMatchObject({ 'x-gateway': 'secret-value', 'x-two': '2' });
  const bad = await shop.submit(DEVELOPERS, `${DEVELOPERS}headers/`, { ...headers, headers: 'Host: evil' });
  expect(bad.status).toBe(422);
  const actions = JSON.stringify(await listActions(stack.db, { operator: `seller ${shop.seller.id}` }, 10));
  expect(actions).toContain('webhook-headers set');
  expect(actions).not.toMatch(/secret-value|whsec_/);
});

test('pages of another state, a foreign cursor and an unknown state are refused without an error of ours', async () => {
  const shop = await newShop();
  expect((await shop.get(`${WEBHOOKS}?state=lost`)).status).toBe(422);
  expect((await shop.get(`${WEBHOOKS}?cursor=00000000-0000-4000-8000-000000000000`)).status).toBe(422);
  expect((await shop.get(`${WEBHOOKS}?state=pending&done=__proto__`)).status).toBe(200);
});
