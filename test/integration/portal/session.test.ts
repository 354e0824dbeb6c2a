import { portalSessionSchema } from '../../../src/contracts/portal-schemas';
import { setDisabled } from '../../../src/db/sellers';
import { BASE } from '../../support/api';
import { portalVisitor } from '../../support/portal';
import { expectProblem } from '../../support/problems';
import { useSharedStack } from '../../support/shared-stack';
import { withNewSeller } from '../../support/stack';

const stack = useSharedStack();
const START = '/portal/overview/';

async function newVisitor() {
  const account = await withNewSeller(stack);
  return { seller: account.seller, ...portalVisitor(account) };
}
/** Moves the times of the seller's sessions into the past. */
const age = (sellerId: string, column: string, interval: string) =>
  stack.db.query(`update portal_session set ${column} = ${column} - $2::interval where seller_id = $1`, [
    sellerId,
    interval,
  ]);

test('the API returns a link for a person, and refuses an invalid name', async () => {
  const call = (data: unknown) =>
    stack.api.call('POST', `${BASE}/seller/${stack.seller.id}/portal_session/`, { body: { data } });
  const { status, body } = await call({ user: 'Ada', read_only: true });
  expect([status, portalSessionSchema.strict().parse(body.data)]).toEqual([201, body.data]);
  expect(body.data).toMatchObject({ user: 'Ada', read_only: true });
  expect(Date.parse(body.data.expires_at) - Date.now()).toBeLessThanOrEqual(600_000);
  for (const data of [{ user: '' }, { user: 'x'.repeat(101) }, { read_only: 'yes' }, { name: 'Ada' }])
    expectProblem(await call(data), 422, 'invalid_request');
});

test('a link can be opened any number of times, works once by its button, and starts a session', async () => {
  const visitor = await newVisitor();
  const link = await visitor.link({ user: 'Ada <b>' });
  for (let count = 0; count < 3; count++) expect((await visitor.get(link)).status).toBe(200);
  expect((await visitor.get(START)).status).toBe(401);
  const started = await visitor.submit(link, link);
  expect([started.status, started.headers.get('Location')]).toEqual([303, START]);
  expect(started.headers.getSetCookie().find((cookie) => cookie.startsWith('portal='))).toMatch(
    /^portal=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=28800$/,
  );
  const page = await visitor.get(START);
  expect(page.status).toBe(200);
  expect(page.text).toContain('Ada &lt;b&gt;');
  // Once more, and by somebody else.
  const other = await newVisitor();
  for (const { get, request } of [visitor, other]) {
    expect((await get(link)).status).toBe(401);
    expect((await request(link, { form_token: 'x' })).status).toBe(403);
  }
});

test('two uses of a link at the same time start one session', async () => {
  const visitor = await newVisitor();
  const link = await visitor.link();
  const token = visitor.tokenOf(await visitor.get(link));
  const uses = await Promise.all(Array.from({ length: 5 }, () => visitor.request(link, { form_token: token })));
  expect(uses.map(({ status }) => status).sort()).toEqual([303, 401, 401, 401, 401]);
});

test('a cookie that somebody else has set is not adopted by a new session', async () => {
  const visitor = await newVisitor();
  const fixed = 'A'.repeat(43);
  visitor.cookies.set('portal', fixed);
  await visitor.signIn();
  expect(visitor.cookies.get('portal')).not.toBe(fixed);
  visitor.cookies.set('portal', fixed);
  expect((await visitor.get(START)).status).toBe(401);
});

test.each([
  ['ten minutes after it was made', (id: string) => age(id, 'created_at', '10 minutes'), undefined],
  ['eight hours after its start', undefined, (id: string) => age(id, 'started_at', '8 hours')],
  ['30 minutes after its last use', undefined, (id: string) => age(id, 'last_used_at', '30 minutes')],
])('a link or a session ends %s', async (_, beforeStart, afterStart) => {
  const { seller, ...visitor } = await newVisitor();
  const link = await visitor.link();
  const token = visitor.tokenOf(await visitor.get(link));
  await beforeStart?.(seller.id);
  const { status } = await visitor.request(link, { form_token: token });
  expect(status).toBe(beforeStart ? 401 : 303);
  await afterStart?.(seller.id);
  expect((await visitor.get(START)).status).toBe(401);
});

test('a session ends when the person signs out, its key is revoked or its account is disabled', async () => {
  const one = await newVisitor();
  await one.signIn();
  const cookie = one.cookies.get('portal')!;
  expect((await one.submit(START, '/portal/sign-out/')).text).toContain('You are signed out');
  one.cookies.set('portal', cookie);
  expect((await one.get(START)).status).toBe(401);

  const two = await newVisitor();
  await two.signIn();
  await stack.db.query('update api_key set revoked_at = now() where seller_id = $1', [two.seller.id]);
  expect((await two.get(START)).status).toBe(401);

  const three = await newVisitor();
  await three.signIn();
  await setDisabled(stack.db, three.seller.id, true);
  expect((await three.get(START)).status).toBe(401);
});

test('a read-only session shows no forms', async () => {
  const visitor = await newVisitor();
  await visitor.signIn({ read_only: true });
  for (const page of [START, '/portal/developers/']) {
    const { text } = await visitor.get(page);
    expect(text).toContain('Read only');
    expect([...text.matchAll(/<form[^>]*action="([^"]+)"/g)].map(([, action]) => action)).toEqual([
      '/portal/sign-out/',
    ]);
  }
});

test('an unknown page, another method and a path outside get their pages', async () => {
  const visitor = await newVisitor();
  expect((await visitor.get('/portal/nothing/')).status).toBe(401);
  await visitor.signIn();
  expect((await visitor.get('/portal/nothing/')).status).toBe(404);
  const wrong = await visitor.request('/portal/webhooks/', {});
  expect([wrong.status, wrong.headers.get('Allow')]).toEqual([405, 'HEAD, GET']);
  expect((await visitor.get('/portal/')).headers.get('Location')).toBe(START);
  expect((await visitor.get('/portalx/')).headers.get('Content-Type')).toContain('application/problem+json');
});
