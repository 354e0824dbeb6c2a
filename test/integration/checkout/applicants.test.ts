import {
  BUSINESS,
  type Customer,
  buttonTarget,
  customerAt,
  newCustomer,
  statusOfOrder,
  useCheckout,
} from '../../support/checkout';
import { timelineOf } from '../../support/orders';
import { useSharedStack } from '../../support/shared-stack';
import { until } from '../../support/until';

const REDIRECT = 'https://shop.example/thanks';
const EXPLANATION = 'Open this link in the browser that you used before';
/** Application data that only the applicant may see: amounts, reasons, answers and the payment method. */
const PRIVATE =
  /£411\.50|Total to repay|turnover|checked the details|Bloggs|01234567|form_token" value="[^"]+" \/>\s*<input type="hidden" name="agreed_on"/;

const stack = useSharedStack();

const newOrder = () => newCustomer(stack, { redirect_url: REDIRECT });
const codeOn = (page: { text: string }) => /<span class="code">([\dA-Z]{4}-[\dA-Z]{4})<\/span>/.exec(page.text)?.[1];
const enterCode = async (browser: Customer, code: string) => {
  await browser.look();
  return browser.submit('continue', { code });
};
const wrongCode = (code: string) => code.replace(/.$/, (last) => (last === '0' ? '1' : '0'));

test('another browser with the link cannot agree to the repayments, and sees neither them nor the code', async () => {
  const { id, url, customer } = await newOrder();
  const approved = await customer.apply();
  const other = customerAt(url);
  const page = await other.look();
  expect([page.status, page.heading]).toEqual([200, 'The application for this order is approved']);
  expect(page.text).toContain(EXPLANATION);
  const today = /name="agreed_on" value="([^"]+)/.exec(approved.text)![1]!;
  const sent = await other.send('confirmation', { agree: 'yes', agreed_on: today });
  expect([sent.status, sent.headers.get('Location')]).toEqual([303, new URL(url).pathname]);
  const refused = await other.submit('confirmation', { agree: 'yes', agreed_on: today });
  for (const { text } of [page, refused]) {
    expect(text).not.toMatch(PRIVATE);
    expect(text).not.toContain(codeOn(approved));
  }
  expect(await statusOfOrder(stack, id)).toBe('APPROVED');
  expect((await timelineOf(stack, id)).map(({ event }) => event)).not.toContain('completed');
  // Nothing is lost for the applicant.
  await customer.look();
  await customer.submit('confirmation', { agree: 'yes' });
  expect(await statusOfOrder(stack, id)).toBe('SUCCESSFUL');
});

test.each([
  ['referred@b.example', 'The lender is reviewing the application', 'Sandbox Lender is reviewing your application'],
  ['declined@b.example', 'This order is not complete yet', 'Pay later was not approved'],
  ['failed@b.example', 'This order is not complete yet', 'About your business'],
  ['jo@b.example', 'This order is complete', 'Your order is complete'],
])('of the application of %s, another browser sees the status only', async (email, heading, ownHeading) => {
  const { url, customer } = await newOrder();
  await customer.apply({ email });
  if (email.startsWith('jo')) await customer.submit('confirmation', { agree: 'yes' });
  const own = await customer.look();
  expect(own.heading).toBe(ownHeading);
  expect(codeOn(own)).toBeDefined();
  const other = customerAt(url);
  const pages = [await other.look(), await other.look('?refresh=off')];
  const redirected = await other.look('return/');
  expect([redirected.status, redirected.headers.get('Location')]).toEqual([303, new URL(url).pathname]);
  for (const page of pages) {
    expect([page.status, page.heading, page.headers.get('Refresh')]).toEqual([200, heading, null]);
    expect(page.text).toContain(EXPLANATION);
    expect(page.text).not.toMatch(PRIVATE);
    expect(codeOn(page)).toBeUndefined();
  }
});

test.each(['declined@b.example', 'failed@b.example'])(
  'another browser does not learn that the application of %s was not approved, also while its customer pays now',
  async (email) => {
    const { url, customer } = await newOrder();
    await customer.apply({ email });
    const chooseBankPage = await customer.submit('choice', { payment_term: 'PAY_NOW' });
    expect([chooseBankPage.text.includes('Your bank'), codeOn(chooseBankPage)]).toEqual([true, expect.any(String)]);
    const other = customerAt(url);
    const choosing = await other.look();
    expect(choosing.heading).toBe('This order is not complete yet');
    await customer.look();
    await customer.submit('payment', { bank: 'oak' });
    const paying = await other.look();
    expect(paying.heading).toBe('A payment for this order is in progress');
    // An order with an application can be paid by its applicant only.
    expect(paying.text).not.toContain('You can then pay here');
    for (const { text } of [choosing, paying])
      expect(text).not.toMatch(/application for this order was not approved|not be processed|declined/);
  },
);

test('another browser cannot find out the answers of an application by guessing them', async () => {
  const { id, url, customer } = await newOrder();
  const other = customerAt(url);
  await customer.apply({ email: 'referred@b.example' });
  await other.look();
  const guess = { ...BUSINESS, email: 'referred@b.example', payment_term: 'PAY_LATER' };
  const locations = [];
  for (const part of ['application', 'choice']) {
    locations.push((await other.send(part, guess)).headers.get('Location'));
    locations.push(
      (await other.send(part, { ...guess, business_name: 'X', payment_term: 'PAY_NOW' })).headers.get('Location'),
    );
  }
  expect(new Set(locations)).toEqual(new Set([`${new URL(url).pathname}?message=not-used`]));
  const page = await other.submit('application', guess);
  expect([page.heading, page.text.includes('We did not use the answers that you just sent')]).toEqual([
    'The lender is reviewing the application',
    true,
  ]);
  expect(await statusOfOrder(stack, id)).toBe('PENDING');
});

test('the code continues the application in another browser once, and the first browser then needs the new code', async () => {
  const { id, url, customer } = await newOrder();
  const code = codeOn(await customer.apply())!;
  expect(codeOn(await customer.look())).toBe(code);
  const other = customerAt(url);
  const continued = await enterCode(other, ` ${code.toLowerCase().replace('-', ' ')} `);
  expect([continued.status, continued.heading]).toEqual([200, 'You are approved']);
  const newCode = codeOn(continued)!;
  expect(newCode).not.toBe(code);
  expect((await customer.look()).heading).toBe('The application for this order is approved');
  await customer.submit('confirmation', { agree: 'yes' });
  expect(await statusOfOrder(stack, id)).toBe('APPROVED');
  expect((await enterCode(customer, code)).text).toContain('This code is not correct');
  expect((await enterCode(customer, newCode)).heading).toBe('You are approved');
  expect(codeOn(await customer.look())).not.toBe(code);
  await customer.submit('confirmation', { agree: 'yes' });
  expect(await statusOfOrder(stack, id)).toBe('SUCCESSFUL');
  expect((await other.look()).heading).toBe('This order is complete');
});

test('a double click on the code form continues once, and both responses lead to the application', async () => {
  const { url, customer } = await newOrder();
  const code = codeOn(await customer.apply())!;
  const other = customerAt(url);
  await other.look();
  const responses = await Promise.all([other.send('continue', { code }), other.send('continue', { code })]);
  expect(responses.map(({ status }) => status)).toEqual([303, 303]);
  expect((await other.look()).heading).toBe('You are approved');
});

test('wrong codes are refused, ten per hour and browser, and the applicant can still continue', async () => {
  const { url, customer } = await newOrder();
  const code = codeOn(await customer.apply())!;
  const other = customerAt(url);
  for (const incomplete of ['', code.slice(1), `${code}0`, 'UUUU-UUUU']) {
    const page = await enterCode(other, incomplete);
    expect([page.status, page.text.includes('It has 8 characters')]).toEqual([422, true]);
  }
  const statuses = [];
  for (let attempt = 0; attempt < 11; attempt++) statuses.push((await enterCode(other, wrongCode(code))).status);
  expect(statuses).toEqual([...Array<number>(10).fill(422), 429]);
  const limited = await enterCode(other, code);
  expect([limited.status, limited.text.includes('Too many codes were entered')]).toEqual([429, true]);
  expect(limited.text).not.toMatch(PRIVATE);
  expect((await customer.look()).heading).toBe('You are approved');
  // Who has the link cannot lock out the customer's other browser.
  expect((await enterCode(customerAt(url), code)).heading).toBe('You are approved');
});

const proxied = useCheckout({
  env: { TRUSTED_PROXIES: '1', RATE_LIMIT_PAY_LINK: '1000', RATE_LIMIT_WINDOW_MS: '60000' },
});

test('a network can enter 100 codes per hour, with any number of browsers, and others can still continue', async () => {
  const { url } = await newCustomer(proxied, { redirect_url: REDIRECT });
  const code = codeOn(await customerAt(url, '192.0.2.1').apply())!;
  const attempts = Array.from({ length: 12 }, async () => {
    const browser = customerAt(url, '198.51.100.7');
    const statuses = [];
    for (let attempt = 0; attempt < 9; attempt++) statuses.push((await enterCode(browser, wrongCode(code))).status);
    return statuses;
  });
  const statuses = (await Promise.all(attempts)).flat();
  expect(statuses.filter((status) => status === 422)).toHaveLength(100);
  expect(statuses.filter((status) => status === 429)).toHaveLength(8);
  expect((await enterCode(customerAt(url, '198.51.100.7'), code)).status).toBe(429);
  expect((await enterCode(customerAt(url, '192.0.2.2'), code)).heading).toBe('You are approved');
}, 60_000);

test('the code and the cookie of one order do not open another one', async () => {
  const [one, two] = [await newOrder(), await newOrder()];
  const code = codeOn(await one.customer.apply())!;
  await two.customer.apply();
  expect((await enterCode(customerAt(two.url), code)).text).toContain('This code is not correct');
  const cookie = (await one.customer.look()).headers.get('Set-Cookie')!.split(';')[0]!;
  const page = await fetch(two.url, { headers: { Cookie: cookie } });
  expect(await page.text()).toContain(EXPLANATION);
});

test('a cookie that was changed, cut off or copied from the database does not open the application', async () => {
  const { id, url, customer } = await newOrder();
  await customer.apply();
  const cookie = (await customer.look()).headers.get('Set-Cookie')!.split(';')[0]!;
  const [name = '', secret = ''] = cookie.split('=');
  const { rows } = await stack.db.query<{ digest: string }>(
    "select encode(browser_digest, 'base64') as digest from application where order_id = $1",
    [id],
  );
  const textFor = async (value: string) => (await fetch(url, { headers: { Cookie: value } })).text();
  expect(await textFor(cookie)).toContain('You are approved');
  expect(await textFor(`checkout-other=${'A'.repeat(24)}; ${cookie}`)).toContain('You are approved');
  const flipped = secret.replace(/^./, (first) => (first === 'A' ? 'B' : 'A'));
  for (const value of [flipped, secret.slice(1), `${secret}x`, '', rows[0]!.digest, rows[0]!.digest.slice(0, 24)]) {
    const text = await textFor(`${name}=${value}`);
    expect(text).toContain(EXPLANATION);
    expect(text).not.toMatch(PRIVATE);
  }
});

test.each([
  ['approved', 'This order is complete', /The payment of £1,234\.50 to Test Shop Ltd was made/],
  ['refused', 'Choose your bank', /The bank refused the payment. No money was taken/],
])(
  'a customer who returns from the bank in another browser reads the result (%s), and is asked for no code',
  async (outcome, heading, result) => {
    const { id, url, customer } = await newOrder();
    await customer.leaveAtBank(await customer.startPayment(), outcome);
    const other = customerAt(url);
    await other.look('return/');
    const page = await other.look();
    expect(page.heading).toBe(heading);
    expect(page.text.replace(/\s+/g, ' ')).toMatch(result);
    expect(page.text).not.toMatch(/Oak Bank (paid|refused)|name="code"/);
    if (outcome === 'approved') expect(buttonTarget(page)).toBe(`${REDIRECT}?orderId=${id}`);
    // No page has shown one.
    expect(codeOn(await customer.look())).toBeUndefined();
  },
);

test('no code is shown or asked for once an application is declined for good', async () => {
  const { url, customer } = await newCustomer(stack, { redirect_url: REDIRECT, allowed_payment_terms: ['PAY_LATER'] });
  const declined = await customer.apply({ email: 'declined@b.example' });
  expect([declined.heading, codeOn(declined)]).toEqual(['Your application was not approved', undefined]);
  const page = await customerAt(url).look();
  expect([page.heading, page.text.includes('name="code"'), buttonTarget(page)]).toEqual([
    'The application for this order was not approved',
    false,
    'https://shop.example/',
  ]);
});

test('after the seller cancels, every browser sees the cancellation', async () => {
  const { id, url, customer } = await newOrder();
  await customer.apply();
  await stack.api.cancel(id);
  const other = customerAt(url);
  expect((await other.look()).heading).toBe('This order was cancelled');
  expect((await customer.look()).heading).toBe('This order was cancelled');
});

test('before an application is submitted, the choice of a bank shows no code, because every browser may open it', async () => {
  const { customer } = await newOrder();
  await customer.decideAtBank(await customer.startPayment(), 'refused');
  const page = await customer.look();
  expect([page.heading, codeOn(page)]).toEqual(['Choose your bank', undefined]);
});

test('another browser is led to the redirect URL only if the order is complete', async () => {
  const { id, url, customer } = await newOrder();
  await customer.apply();
  const other = customerAt(url);
  expect(buttonTarget(await other.look())).toBe('https://shop.example/');
  await customer.submit('confirmation', { agree: 'yes' });
  expect(buttonTarget(await other.look())).toBe(`${REDIRECT}?orderId=${id}`);
  expect(buttonTarget(await customer.look())).toBe(`${REDIRECT}?orderId=${id}`);
});

test('the seller learns the outcome but no reason and no code through the API', async () => {
  const { id, customer } = await newOrder();
  const code = codeOn(await customer.apply({ email: 'declined@b.example' }))!;
  await customer.submit('withdraw', {});
  expect(codeOn(await customer.look())).toBeUndefined();
  await until(async () => (await statusOfOrder(stack, id)) === 'UNSUCCESSFUL', 'it is declined');
  const answers = JSON.stringify([(await stack.api.get(id)).body, await timelineOf(stack, id)]);
  expect(answers).toContain('declined by the lender');
  for (const secret of ['credit', 'affordability', code, code.replace('-', '')]) expect(answers).not.toContain(secret);
});
