import { listActions } from '../../../src/db/operator-actions';
import { updateSeller } from '../../../src/db/sellers';
import { startTestServer } from '../../support/listening-server';
import { openOrder } from '../../support/orders';
import { portalVisitor } from '../../support/portal';
import { portalRoutes } from '../../support/routes';
import { useSharedStack } from '../../support/shared-stack';
import { withNewSeller } from '../../support/stack';
import { until } from '../../support/until';
import { useResource } from '../../support/use-resource';

const stack = useSharedStack();
/** An endpoint whose response contains markup. */
const receiver = useResource(
  () => startTestServer((request, response) => request.resume().on('end', () => response.end(payload('receiver')))),
  (server) => server.close(),
);

const ROUTES = portalRoutes().map((route) => route.split(' ') as [method: string, path: string]);
const GETS = ROUTES.filter(([method]) => method === 'GET').map(([, path]) => path);
const POSTS = ROUTES.filter(([method]) => method === 'POST').map(([, path]) => path);
const LINK = '/portal/link/:link';
/** The routes that are audited as an action. */
const ACTIONS = POSTS.filter((path) => path !== LINK && path !== '/portal/sign-out');

/** Fields of every form, which are valid. */
const FIELDS = {
  ...{ event: 'signup_started', label: 'stolen', url: 'https://attacker.example/', replaces: '', overlap: '0' },
  ...{ origin: 'https://attacker.example', headers: 'X-Attack: 1', state: 'exhausted', since: '2020-01-01' },
};

/** Breaks out of text, of attributes with and without quotes, and of comments. */
const payload = (name: string): string => `'"--><x-${name} autofocus onfocus=alert(1)>`;
const urlPayload = (name: string): string => `https://a.example/?${payload(name).replaceAll(' ', '/')}`;
/** True if a browser would take a part of it as markup. */
function expectHarmless({ text }: { text: string }): void {
  const tags = text.replace(/<style>.*?<\/style>/s, '').match(/<[^!>][^>]*>?/g) ?? [];
  expect(tags.length).toBeGreaterThan(5);
  for (const tag of tags) {
    expect(tag).toMatch(/^<\/?[a-z][a-z0-9]*(\s+[a-zA-Z][a-zA-Z0-9-]*(="[^"]*")?)*\s*\/?>$/);
    expect(tag).not.toMatch(/^<(script|iframe|object|embed|img|x-)|\son[a-z]+[=\s>](?=[^"]*("[^"]*"[^"]*)*$)/i);
    expect(tag).not.toMatch(/(href|action|src)="(?!https?:|[/?#]|")/);
  }
}

type Ids = Record<'orderId' | 'webhookId' | 'keyId' | 'link', string>;
/** A path of a route, with the ids. Fails for a parameter that this file does not know. */
const fill = (path: string, ids: Partial<Ids>): string =>
  `${path.replace(/:(\w+)/g, (_, name: keyof Ids) => {
    if (ids[name] === undefined) throw new Error(`no ${name} for ${path}`);
    return ids[name];
  })}/`.replace(/(\.csv)?\/+$/, (_, csv) => csv ?? '/');

/** A seller with an order, a webhook and a key, and a person who is signed in. */
async function newShop(session: object = { user: 'Ada' }, data: Record<string, unknown> = {}) {
  const { seller, api } = await withNewSeller(stack, { sandbox: true });
  const visitor = portalVisitor({ api, seller });
  const link = await visitor.link();
  await visitor.signIn(session);
  const orderId = await openOrder({ ...stack, api }, { webhook_url: `${receiver.url}/hooks`, ...data }, [
    'signup_started',
  ]);
  const one = async <T>(text: string, values: unknown[]) => (await stack.db.query(text, values)).rows[0] as T;
  const webhookId = await until(async () => {
    const found = await one<{ id: string } | undefined>(
      `select id from webhook_event where order_id = $1 and state = 'delivered'`,
      [orderId],
    );
    return found?.id;
  }, 'the webhook is delivered');
  const { id: keyId } = await one<{ id: string }>('select id from api_key where seller_id = $1', [seller.id]);
  const ids: Ids = { orderId, webhookId, keyId, link: link.split('/')[3]! };
  /** Everything of the account that a form changes. */
  const state = () =>
    one(
      `select s::text as seller, (select json_agg(k) from (select id, label, revoked_at from api_key
           where seller_id = s.id order by id) k)::text as keys,
         (select json_agg(o.status) from orders o where seller_id = s.id)::text as orders,
         (select json_agg(w) from webhook_secret w where seller_id = s.id)::text as secrets,
         (select count(*) from webhook_event w join webhook_attempt a on a.event_id = w.id where w.seller_id = s.id)
           as attempts
       from seller s where id = $1`,
      [seller.id],
    );
  const actions = async () =>
    (await listActions(stack.db, { operator: `seller ${seller.id}` }, 100)).map(({ command }) => command);
  const token = visitor.tokenOf(await visitor.get('/portal/overview/'));
  return { seller, api, ids, state, actions, token, ...visitor };
}

test('the list of routes is that of the router', () => {
  expect(GETS).toEqual(expect.arrayContaining(['/portal/overview', '/portal/orders.csv', LINK]));
  expect(ACTIONS).toEqual(expect.arrayContaining(['/portal/developers/keys', '/portal/orders/:orderId/cancel']));
});

test("another seller's ids are a 404 on every route, and nothing of the other seller is shown or changed", async () => {
  const [victim, attacker] = [await newShop(), await newShop()];
  const before = await victim.state();
  const own = await attacker.state();
  for (const [method, path] of ROUTES.filter(([, path]) => path.includes(':') && path !== LINK)) {
    const parameters = [...path.matchAll(/:(\w+)/g)].map(([, name]) => name as keyof Ids);
    // Each id by itself, with the attacker's own in the places of the others, and all of them.
    const mixes = [...parameters.map((name) => ({ ...attacker.ids, [name]: victim.ids[name] })), victim.ids];
    for (const ids of mixes) {
      const target = fill(path, ids);
      const fields = method === 'POST' ? { ...FIELDS, form_token: attacker.token } : undefined;
      const { status, text } = await attacker.request(target, fields);
      expect([method, target, status]).toEqual([method, target, 404]);
      expect(text).not.toContain(victim.seller.id);
    }
  }
  // Lists, with ids of the other seller where a query takes one.
  const { reference } = (await victim.api.get(victim.ids.orderId)).body.data;
  for (const path of GETS.filter((one) => !one.includes(':')))
    for (const query of [`cursor=${victim.ids.orderId}`, `cursor=${victim.ids.webhookId}`, `q=${victim.ids.orderId}`]) {
      const { text } = await attacker.get(`${fill(path, {})}?${query}&seller=${victim.seller.id}`);
      for (const secret of [reference, victim.seller.id, `/orders/${victim.ids.orderId}/`])
        expect(text).not.toContain(secret);
    }
  expect(await victim.state()).toEqual(before);
  expect(await attacker.state()).toEqual(own);
});

test('every form is refused without its token, with that of somebody else, and from another site', async () => {
  const [victim, attacker] = [await newShop(), await newShop()];
  const before = await victim.state();
  const own = { form_token: victim.token };
  const attempts: [status: number, fields: Record<string, string>, headers: Record<string, string>][] = [
    [403, {}, {}],
    [403, { form_token: '' }, {}],
    [403, { form_token: attacker.token }, {}],
    [403, own, { Origin: 'https://attacker.example' }],
    [403, own, { 'Sec-Fetch-Site': 'cross-site' }],
    [403, own, { 'Sec-Fetch-Site': 'same-site' }],
    [403, { form_token: `${victim.token}x` }, { Origin: stack.api.url }],
    [401, own, { Cookie: '' }],
    [401, own, { Cookie: `portal=${'A'.repeat(43)}` }],
    [403, own, { Cookie: `portal=${attacker.cookies.get('portal')}` }],
  ];
  for (const path of POSTS) {
    for (const [status, fields, headers] of attempts) {
      const answer = await victim.request(fill(path, victim.ids), { ...FIELDS, ...fields }, headers);
      // The form of a link has no session, so it is always the token that is wrong.
      expect([path, headers, answer.status]).toEqual([path, headers, path === LINK ? 403 : status]);
    }
  }
  expect(await victim.state()).toEqual(before);
  expect([await victim.actions(), await attacker.actions()]).toEqual([['portal sign in'], ['portal sign in']]);
  expect((await victim.get('/portal/overview/')).status).toBe(200);
});

test('a page changes nothing by being opened, and an action does nothing by GET', async () => {
  const shop = await newShop();
  const before = await shop.state();
  for (const [, path] of ROUTES) {
    const { status } = await shop.get(
      `${fill(path, shop.ids)}?${new URLSearchParams({ ...FIELDS, form_token: shop.token }).toString()}`,
    );
    expect([path, status]).not.toEqual([path, 500]);
  }
  expect(await shop.state()).toEqual(before);
  expect(await shop.actions()).toEqual(['portal sign in']);
});

test('a read-only session is refused by every action', async () => {
  const shop = await newShop({ read_only: true });
  const before = await shop.state();
  for (const path of ACTIONS) {
    const { status, text } = await shop.request(fill(path, shop.ids), { ...FIELDS, form_token: shop.token });
    expect([path, status, text]).toEqual([path, 403, expect.stringContaining('Your session is read-only')]);
  }
  expect(await shop.state()).toEqual(before);
  expect(await shop.actions()).toEqual(['portal sign in']);
});

test('no response is cached, framed or open to content of others, with a session and without', async () => {
  const shop = await newShop();
  const paths = [...ROUTES, ['GET', '/portal/nothing'], ['DELETE', '/portal/orders'], ['GET', '/portal/orders/no-id']];
  for (const [method, path] of paths as [string, string][])
    for (const headers of [{}, { Cookie: '' }]) {
      const answer = await fetch(stack.api.url + fill(path, shop.ids), {
        ...{ method, redirect: 'manual' },
        headers: { Cookie: `portal=${shop.cookies.get('portal')}`, ...headers },
      });
      const { status, headers: got } = answer;
      const html = await answer.text();
      expect([path, status, Object.fromEntries(got)]).toEqual([
        path,
        expect.any(Number),
        expect.objectContaining({
          ...{ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff', 'x-frame-options': 'DENY' },
          ...{ 'referrer-policy': 'no-referrer', 'cross-origin-resource-policy': 'same-origin' },
          'content-security-policy': expect.stringMatching(
            /^default-src 'none'; style-src '(none|sha256-[\w+/=]+)'; img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/,
          ),
        }),
      ]);
      if (html.startsWith('<')) expectHarmless({ text: html });
      expect(got.get('access-control-allow-origin')).toBeNull();
    }
});

test('markup of customers, sellers, lenders, receivers and people is text on every page', async () => {
  const shop = await newShop(
    { user: payload('user') },
    {
      reference: payload('reference'),
      source: payload('source'),
      redirect_url: urlPayload('redirect'),
    },
  );
  await updateSeller(stack.db, shop.seller.id, { name: payload('seller') });
  await shop.api.progress(shop.ids.orderId, 'declined', payload('lender'));
  const elsewhere = await openOrder({ ...stack, api: shop.api }, { webhook_url: urlPayload('url') });
  await shop.submit('/portal/developers/', '/portal/developers/keys/', { label: payload('label') });
  const ids = { ...shop.ids, keyId: undefined as string | undefined };
  const { rows } = await stack.db.query('select id from api_key where seller_id = $1 order by id', [shop.seller.id]);
  const pages: string[] = [];
  const read = async (page: Promise<{ status: number; text: string }>) => {
    const { status, text } = await page;
    expect(status).not.toBe(500);
    if (status !== 303) expectHarmless({ text });
    pages.push(text);
  };
  const queries = [
    '',
    ...['q', 'done', 'from', 'state', 'cursor', 'replaces', 'status', 'by', 'term'].map(
      (name) => `${name}=${encodeURIComponent(payload(`query-${name}`))}`,
    ),
  ];
  for (const path of GETS.filter((one) => one !== '/portal/orders.csv' && one !== '/portal'))
    for (const query of queries)
      for (const orderId of path.includes(':orderId') ? [shop.ids.orderId, elsewhere] : ['']) {
        const target = fill(path, { ...ids, orderId, keyId: rows[1].id });
        await read(shop.get(`${target}?${query}`));
      }
  // What a form says when it is refused.
  for (const path of ACTIONS) {
    const fields = Object.fromEntries(Object.keys(FIELDS).map((name) => [name, payload(`form-${name}`).repeat(3)]));
    await read(shop.request(fill(path, { ...shop.ids, keyId: '0' }), { ...fields, form_token: shop.token }));
  }
  await read(shop.submit('/portal/webhooks/', '/portal/webhooks/test/', { url: urlPayload('tested') }));
  await read(shop.get(`/portal/link/${encodeURIComponent(payload('link'))}/`));
  await read(shop.get(`/portal/${encodeURIComponent(payload('path'))}/`));
  // Each was really shown.
  const all = pages.join('');
  expect(all).toContain('&lt;x-url/');
  for (const name of [
    'user',
    'reference',
    'source',
    'seller',
    'lender',
    'label',
    'receiver',
    'query-q',
    'query-replaces',
  ])
    expect([name, all.includes(`&lt;x-${name} `)]).toEqual([name, true]);
});
