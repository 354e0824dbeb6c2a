import { BASE } from '../../support/api';
import { expectProblem } from '../../support/problems';
import { useSharedStack } from '../../support/shared-stack';

const stack = useSharedStack();
let ownOrder: string;
beforeAll(async () => {
  ownOrder = (await stack.api.create()).body.data.id;
});

test.each([['00000000-0000-4000-8000-00000000000g'], ['%00'], ['%ff%fe'], ['x'.repeat(5000)]])(
  'the order id %s returns 404',
  async (id) => {
    expectProblem(await stack.api.get(id), 404, 'not_found');
    expectProblem(await stack.api.cancel(id), 404, 'not_found');
  },
);

describe('the Authorization header', () => {
  const get = (authorization: string) =>
    stack.api.get(ownOrder, { key: null, headers: { Authorization: authorization } });

  test('is refused with 401 unless it is Bearer and the key alone', async () => {
    const { key, id } = stack.seller;
    const basic = Buffer.from(`${id}:${key}`).toString('base64');
    for (const header of [
      key,
      `Token ${key}`,
      `Basic ${basic}`,
      `Bearer ${key} x`,
      `Bearer "${key}"`,
      'Bearer',
      `Bearer,${key}`,
      "Bearer ' or 1=1 --",
      `Bearer ${'x'.repeat(10_000)}`,
      'Bearer \u00e9',
    ]) {
      expectProblem(await get(header), 401, 'unauthorized');
    }
  });

  test('without a valid key returns an error that states what is wrong with the header', async () => {
    const { key } = stack.seller;
    const detailOf = async (header: string) => expectProblem(await get(header), 401, 'unauthorized').detail;
    expect(await detailOf(`Token ${key}`)).toMatch(/^The header Authorization has no Bearer key\. /);
    for (const header of [`Bearer '${key}'`, `Bearer <${key}>`])
      expect(await detailOf(header)).toMatch(/^The value after Bearer is not an API key\. .*without quotes\. /);
    expect(await detailOf(`Bearer ${key}x`)).toMatch(
      /^The key sk_test_.{3}… is unknown or revoked, or its account is disabled\. /,
    );
  });

  test('is the only place for a key: a key in the URL returns 401', async () => {
    const { api, seller } = stack;
    const path = `${BASE}/seller/${seller.id}/connection_check/?key=${seller.key}&access_token=${seller.key}`;
    const response = await api.call('GET', path, { key: null });
    expectProblem(response, 401, 'unauthorized');
    expect(response.text).not.toContain(seller.key);
  });
});

test('a seller id in the path is case-insensitive', async () => {
  const { api, seller } = stack;
  expect((await api.call('GET', `${BASE}/seller/${seller.id.toUpperCase()}/connection_check/`)).status).toBe(200);
});
