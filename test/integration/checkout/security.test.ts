import { saveBranding } from '../../../src/checkout/db/branding';
import { connect } from 'node:net';
import { Writable } from 'node:stream';
import { brotliCompressSync } from 'node:zlib';
import { pino } from 'pino';
import { type Api, BASE } from '../../support/api';
import { constants } from '../../support/constants';
import { requestLink, useLink } from '../../support/mails';
import { BUSINESS, customerAt, statusOfOrder } from '../../support/checkout';
import { sendRaw } from '../../support/raw-http';
import { until } from '../../support/until';
import { untilServed } from '../../support/until-served';
import { useSharedStack } from '../../support/shared-stack';
import { withApi } from '../../support/with-api';

const EVIL = `"><script>alert(1)</script><img src=x onerror=alert(1)>'`;

const stack = useSharedStack();

async function newOrder(data: Record<string, unknown> = {}) {
  const { id, order_url: url } = (await stack.api.create(data)).body.data as { id: string; order_url: string };
  return { id, url, customer: customerAt(url) };
}
const bearer = (key: string) => ({ Authorization: `Bearer ${key}` });
const statusOf = (id: string) => statusOfOrder(stack, id);
/** The statuses of consecutive requests for the customer's page. */
async function statusesOf(customer: ReturnType<typeof customerAt>, count: number): Promise<number[]> {
  const statuses: number[] = [];
  while (statuses.length < count) statuses.push((await customer.look()).status);
  return statuses;
}
const styleHash = (page: { headers: Headers }) =>
  /style-src '(sha256-[^']+)'/.exec(page.headers.get('Content-Security-Policy')!)?.[1];

test('every response forbids scripts, frames, caching and referrers', async () => {
  const { url, customer } = await newOrder();
  const responses = [
    await customer.look(),
    await customer.look('return/'),
    await customer.look('logo/'),
    await customer.look('nothing/'),
    await customer.send('choice', { form_token: 'wrong' }),
    await customerAt(url.replace(/pay\/.{8}/, 'pay/00000000')).look(),
  ];
  expect(responses.map(({ status }) => status)).toEqual([200, 303, 404, 404, 403, 404]);
  for (const { headers } of responses) {
    const csp = headers.get('Content-Security-Policy')!.split('; ');
    expect(csp).toEqual([
      "default-src 'none'",
      expect.stringMatching(/^style-src ('none'|'sha256-[\w+/]{43}=')$/),
      "img-src 'self' data:",
      "form-action 'self'",
      "base-uri 'none'",
      "frame-ancestors 'none'",
    ]);
    expect(Object.fromEntries(headers)).toMatchObject({
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'cache-control': 'no-store',
      'x-robots-tag': 'noindex, nofollow',
    });
    expect(headers.get('Strict-Transport-Security')).toBeNull();
  }
});

test('HTML and scripts in form fields, the reference and the seller are shown as text', async () => {
  await stack.db.query('update seller set name = $2 where id = $1', [stack.seller.id, `Shop ${EVIL}`]);
  await stack.db.query('update seller set pricing = $2 where id = $1', [
    stack.seller.id,
    { representativeInterest: 9.9, promotions: [{ name: EVIL, interestFreeDays: 30, validUntil: '2099-01-31' }] },
  ]);
  const { customer } = await newOrder({
    reference: `ref ${EVIL}`,
    redirect_url: `https://shop.example/?q=%22'()&x=a#'frag"`,
  });
  const pages = [
    await customer.look(),
    await customer.submit('choice', { payment_term: EVIL }),
    await customer.submit('choice', { payment_term: 'PAY_LATER' }),
    await customer.submit('application', {
      business_name: EVIL,
      company_number: EVIL,
      email: EVIL,
      monthly_turnover: EVIL,
    }),
    await customer.submit('application', { ...BUSINESS, business_name: EVIL }),
    await customer.submit('confirmation', { agree: 'yes' }),
    await customer.look(),
  ];
  expect(pages.map(({ status }) => status)).toEqual([200, 422, 200, 422, 200, 200, 200]);
  for (const { text } of pages) {
    expect(text).not.toMatch(/<script|<img src=x/);
    expect(text).toContain('&lt;script&gt;');
  }
  // Invalid fields keep what the customer typed.
  expect(pages[3]!.text.match(/value="&quot;&gt;&lt;script&gt;/g)).toHaveLength(4);
  await stack.db.query(`update seller set name = 'Test Shop Ltd' where id = $1`, [stack.seller.id]);
});

test("the Content-Security-Policy allows the stylesheet by its hash, which depends on the seller's colour", async () => {
  const { customer } = await newOrder();
  const own = styleHash(await customer.look());
  await saveBranding(stack.db, stack.seller.id, { colour: '#ffd400' });
  const page = await customer.look();
  expect(page.text).toContain('--brand:#ffd400;--on-brand:#000000');
  expect(styleHash(page)).not.toBe(own);
});

test("a seller's logo is served under the pay link with its image type", async () => {
  const { url, customer } = await newOrder();
  expect((await customer.look()).text).not.toContain('<img');
  const png = Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    'base64',
  );
  await saveBranding(stack.db, stack.seller.id, { logo: { type: 'image/png', bytes: png } });
  expect((await customer.look()).text).toContain(`<img src="${new URL(url).pathname}logo/"`);
  const response = await fetch(`${url}logo/`);
  expect([
    response.status,
    response.headers.get('Content-Type'),
    response.headers.get('X-Content-Type-Options'),
  ]).toEqual([200, 'image/png', 'nosniff']);
  expect(Buffer.from(await response.arrayBuffer()).equals(png)).toBe(true);
});

const CHOICE = { payment_term: 'PAY_LATER' };

test('a form of our own is accepted with the headers that browsers send under no-referrer', async () => {
  const { id, url, customer } = await newOrder();
  await customer.look();
  const sent = await customer.send('choice', CHOICE, { Origin: 'null', 'Sec-Fetch-Site': 'same-origin' });
  expect(sent.status).toBe(303);
  const again = await customer.send('choice', CHOICE, { Origin: new URL(url).origin });
  expect([again.status, await statusOf(id)]).toEqual([303, 'PENDING']);
});

describe('a forged or broken form', () => {
  async function expectRefused(id: string, sent: Promise<{ status: number; heading: string }>) {
    expect(await sent).toMatchObject({ status: 403, heading: 'Your session has expired' });
    expect(await statusOf(id)).toBe('CREATED');
  }

  test('a form without a valid token is refused', async () => {
    const { id, customer } = await newOrder();
    await customer.look();
    for (const form_token of ['', 'wrong', 'x'.repeat(43)]) {
      await expectRefused(id, customer.send('choice', { ...CHOICE, form_token }));
    }
  });

  test('a form with the token of another order or another browser is refused', async () => {
    const [one, other] = [await newOrder(), await newOrder()];
    const tokenOf = async (customer: typeof one.customer, url: string) => {
      await customer.look();
      return /form_token" value="([^"]+)/.exec((await customerAt(url).look()).text)![1]!;
    };
    await expectRefused(
      one.id,
      one.customer.send('choice', { ...CHOICE, form_token: await tokenOf(one.customer, one.url) }),
    );
    const foreign = await tokenOf(one.customer, other.url);
    await expectRefused(one.id, one.customer.send('choice', { ...CHOICE, form_token: foreign }));
  });

  test.each([
    { Origin: 'https://evil.example' },
    { Origin: 'null', 'Sec-Fetch-Site': 'cross-site' },
    { 'Sec-Fetch-Site': 'same-site' },
    { Origin: 'https://evil.example', 'Sec-Fetch-Site': 'same-origin' },
  ])('a form from another site is refused: %j', async (headers) => {
    const { id, customer } = await newOrder();
    await customer.look();
    await expectRefused(id, customer.send('choice', CHOICE, headers));
  });

  test('a body that is not a form, is too long or is nested is refused', async () => {
    const { id, url, customer } = await newOrder();
    await customer.look();
    const post = (body: string, type: string) =>
      fetch(`${url}choice/`, { method: 'POST', body, headers: { 'Content-Type': type } });
    expect((await post(JSON.stringify(CHOICE), 'application/json')).status).toBe(403);
    expect((await post(`x=${'x'.repeat(20_000)}`, 'application/x-www-form-urlencoded')).status).toBe(413);
    expect((await post('form_token[a]=b&__proto__[x]=y', 'application/x-www-form-urlencoded')).status).toBe(403);
    expect(await statusOf(id)).toBe('CREATED');
  });

  test('a compressed body is refused: a few bytes can expand to megabytes', async () => {
    const { id, url } = await newOrder();
    const body = brotliCompressSync('a'.repeat(50_000_000));
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded', 'Content-Encoding': 'br' };
    const response = await fetch(`${url}choice/`, { method: 'POST', body, headers });
    expect(response.status).toBe(400);
    expect(await statusOf(id)).toBe('CREATED');
  });

  test('an unknown pay link is refused before the body arrives', async () => {
    const request =
      'POST /pay/00000000-0000-4000-8000-000000000000/choice/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n' +
      'Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\n\r\n';
    expect(await sendRaw(stack.api.url, request)).toMatch(/^HTTP\/1\.1 404 /);
  });
});

test('over https the cookie is Secure and bound to the host, and the response enables HSTS', () =>
  withApi(stack, { CHECKOUT_BASE_URL: 'https://pay.example' }, async (api) => {
    const { pathname } = new URL((await api.create()).body.data.order_url);
    const { headers } = await fetch(api.url + pathname);
    expect(headers.get('Set-Cookie')).toMatch(
      /^__Host-checkout-[\w-]{6}=[\w-]{24}; Path=\/; Max-Age=34560000; HttpOnly; SameSite=Lax; Secure$/,
    );
    expect(headers.get('Strict-Transport-Security')).toBe('max-age=31536000');
  }));

test('an API process accepts forms that another one rendered', async () => {
  const { url, id, customer } = await newOrder();
  const page = await customer.look();
  const response = await withApi(stack, {}, (second) =>
    fetch(`${second.url}${new URL(url).pathname}choice/`, {
      method: 'POST',
      redirect: 'manual',
      headers: { Cookie: page.headers.get('Set-Cookie')!.split(';')[0]! },
      body: new URLSearchParams({
        form_token: /form_token" value="([^"]+)/.exec(page.text)![1]!,
        payment_term: 'PAY_LATER',
      }),
    }),
  );
  expect([response.status, await statusOf(id)]).toEqual([303, 'PENDING']);
});

test('an unknown path or method returns an error page', async () => {
  const { url, customer } = await newOrder();
  for (const part of ['nothing/', '../', '../x/', 'choice/more/']) {
    const page = await customer.look(part);
    expect([part, page.status, page.headers.get('Content-Type')]).toEqual([part, 404, 'text/html; charset=utf-8']);
  }
  const notAllowed = await fetch(url, { method: 'DELETE' });
  expect([notAllowed.status, notAllowed.headers.get('Content-Type')]).toEqual([405, 'text/html; charset=utf-8']);
  expect(notAllowed.headers.get('Allow')?.split(', ').sort()).toEqual(['GET', 'HEAD']);
  expect((await fetch(`${url}choice/`, { method: 'PUT' })).headers.get('Allow')).toMatch(/POST/);
  expect((await fetch(url, { method: 'HEAD' })).status).toBe(200);
});

/** Rate limits in a window that is longer than a test. */
const limitedTo = (limits: Record<string, string>) => ({
  ...limits,
  ...constants({ rateLimits: { windowMs: 3_600_000 } }),
});

test('a pay link that is opened too often returns 429, and other links still work', () =>
  withApi(stack, limitedTo({ RATE_LIMIT_PAY_LINK: '5' }), async (api) => {
    const [one, other] = [(await api.create()).body.data.order_url, (await api.create()).body.data.order_url];
    expect(await statusesOf(customerAt(one), 7)).toEqual([200, 200, 200, 200, 200, 429, 429]);
    expect((await fetch(`${one}logo/`)).status).toBe(429);
    const page = await customerAt(one).look();
    expect(page.heading).toBe('Too many requests');
    expect(Number(page.headers.get('Retry-After'))).toBeGreaterThan(0);
    expect((await customerAt(other).look()).status).toBe(200);
  }));

test('a flood on a pay link locks out neither its other networks nor the applicant in the same network', () =>
  withApi(stack, limitedTo({ RATE_LIMIT_PAY_LINK: '20', TRUSTED_PROXIES: '1' }), async (api) => {
    const { order_url: url } = (await api.create()).body.data;
    const applicant = customerAt(url, '198.51.100.7');
    await applicant.apply({ email: 'referred@b.example' });
    const flood = await statusesOf(customerAt(url, '198.51.100.7'), 40);
    expect(flood.slice(-20)).toEqual(Array(20).fill(429));
    expect((await customerAt(url, '192.0.2.1').look()).status).toBe(200);
    expect((await applicant.look()).status).toBe(200);
    // Its own allowance has a limit too, and a made-up cookie gets none.
    const made = customerAt(url, '192.0.2.2');
    await made.look();
    expect((await statusesOf(made, 40)).slice(-20)).toEqual(Array(20).fill(429));
    expect((await statusesOf(applicant, 40)).slice(-20)).toEqual(Array(20).fill(429));
  }));

test('logs contain the order id, but no pay link, no customer data and no mailed link', async () => {
  const lines: string[] = [];
  const sink = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk));
      done();
    },
  });
  const useAll = async (api: Api) => {
    const { id, order_url: url } = (await api.create()).body.data as { id: string; order_url: string };
    const link = new URL(url).pathname.split('/')[2]!;
    await customerAt(url).apply({ email: 'referred@secret.example', business_name: 'Secret Ltd' });
    const other = customerAt(url);
    const mailed = await requestLink(stack, id, other);
    await useLink(other, mailed);
    await other.look(`${mailed}/`);
    await customerAt(url.replace(link, '00000000-0000-4000-8000-000000000000')).look();
    await api.call('GET', `${BASE}/pay_link/${link}/`, { key: api.checkoutKey });
    const misspelt = [
      `/PAY/${link}/`,
      `/pay//${link}/`,
      `/%70ay/${link}/`,
      `/pay/${link.toUpperCase()}/x`,
      `${BASE}/PAY_LINK/${link}/`,
      `${BASE}/pay_link//${link}/`,
      `${BASE}/order/${link}/`,
      `/another/prefix/pay_link/${link}/`,
      `/${link}`,
      `/pay/${Buffer.from(link).toString('hex').replace(/../g, '%$&')}/`,
    ];
    for (const path of misspelt) await fetch(api.url + path, { headers: bearer(stack.seller.key) });
    const isServed = untilServed(`/pay/${link}/choice/`);
    const cutOff = connect(Number(new URL(api.url).port), '127.0.0.1');
    cutOff.write(`POST /pay/${link}/choice/ HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n`);
    cutOff.write('Content-Type: application/x-www-form-urlencoded\r\n\r\nform');
    await isServed;
    cutOff.destroy();
    // 499 if the server has noticed the end of the connection before it read the body.
    const isLogged = (line: string): boolean => /…\/choice\/","status":4(00|99)/.test(line);
    await until(() => lines.some(isLogged), 'the cut-off form is logged');
    return { id, link, mailed, misspelt };
  };
  const { id, link, mailed, misspelt } = await withApi(stack, {}, useAll, pino({ level: 'trace' }, sink));
  const decode = (_: string, code: string) => String.fromCharCode(parseInt(code, 16));
  const text = lines
    .join('')
    .replace(/%([\da-f]{2})/gi, decode)
    .toLowerCase();
  expect(text.match(/"msg":"request"/g)!.length).toBeGreaterThan(misspelt.length);
  expect(text).toContain(`"path":"/pay/${link.slice(0, 8)}…/application/"`);
  expect(text).toContain(`"order_id":"${id}"`);
  for (const secret of [
    link,
    '00000000-0000-4000',
    'secret.example',
    'secret ltd',
    '01234567',
    mailed.split('/')[1]!.toLowerCase(),
  ]) {
    expect(text).not.toContain(secret);
  }
});

test('an unknown pay link counts against its address, which then waits for each refusal; a valid one works there', () =>
  withApi(stack, limitedTo({ RATE_LIMIT_ADDRESS: '3', RATE_LIMIT_PAY_LINK: '1' }), async (api) => {
    const { order_url: url } = (await api.create()).body.data as { order_url: string };
    const unknown = customerAt(url.replace(/pay\/.{8}/, 'pay/00000000'));
    expect(await statusesOf(unknown, 3)).toEqual([404, 404, 404]);
    const begun = performance.now();
    const refused = await unknown.look();
    expect([refused.status, performance.now() - begun > 950]).toEqual([429, true]);
    expect(refused.headers.get('RateLimit')).toContain('"address";r=0');
    expect((await customerAt(url).look()).status).toBe(200);
    expect((await fetch(new URL('/pay/nothing/', url))).status).toBe(429);
  }));
