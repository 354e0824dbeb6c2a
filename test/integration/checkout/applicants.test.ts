import { BUSINESS, buttonTarget, customerAt, newCustomer, statusOfOrder } from '../../support/checkout';
import { keptMails, kindOf, requestLink, useLink } from '../../support/mails';
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
/** How the applicant's own pages say how to continue on another device. */
const ELSEWHERE = /To open this page on another device, open its link there\. We then email a link to (\S+) that/;
const elsewhereOn = (page: { text: string }) => ELSEWHERE.exec(page.text.replace(/\s+/g, ' '))?.[1];
const ASK = 'Email me a link';

test('another browser with the link cannot agree to the repayments, and sees neither them nor the address', async () => {
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
    expect(text).not.toContain('bloggs.example');
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
  expect(elsewhereOn(own)).toBe(`${email[0]}…@b.example`);
  const other = customerAt(url);
  const pages = [await other.look(), await other.look('?refresh=off')];
  const redirected = await other.look('return/');
  expect([redirected.status, redirected.headers.get('Location')]).toEqual([303, new URL(url).pathname]);
  for (const page of pages) {
    expect([page.status, page.heading, page.headers.get('Refresh')]).toEqual([200, heading, null]);
    expect(page.text).toContain(EXPLANATION);
    expect(page.text).not.toMatch(PRIVATE);
    expect(page.text).not.toContain('b.example');
    expect(page.text).toContain(ASK);
  }
});

test.each(['declined@b.example', 'failed@b.example'])(
  'another browser does not learn that the application of %s was not approved, also while its customer pays now',
  async (email) => {
    const { url, customer } = await newOrder();
    await customer.apply({ email });
    const chooseBankPage = await customer.submit('choice', { payment_term: 'PAY_NOW' });
    expect([chooseBankPage.text.includes('Your bank'), elsewhereOn(chooseBankPage)]).toEqual([
      true,
      expect.any(String),
    ]);
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

test('a link by email continues the application in another browser once, and only its button does', async () => {
  const { id, url, customer } = await newOrder();
  await customer.apply();
  const other = customerAt(url);
  const link = await requestLink(stack, id, other);
  const mail = (await keptMails(stack, id)).find((one) => kindOf(one) === 'link');
  expect(mail).toMatchObject({
    to: BUSINESS.email,
    fromName: 'Test Shop Ltd',
    subject: 'Your link to continue your order',
  });
  // A scanner of the mail program opens it first.
  const scanned = await customerAt(url).look(`${link}/`);
  expect([scanned.status, scanned.heading]).toEqual([200, 'Continue on this device']);
  expect((await other.look(`${link}/`)).heading).toBe('Continue on this device');
  expect((await customer.look()).heading).toBe('You are approved');
  expect((await other.submit(link, {})).heading).toBe('You are approved');
  expect((await customer.look()).heading).toBe('The application for this order is approved');
  await customer.submit('confirmation', { agree: 'yes' });
  expect(await statusOfOrder(stack, id)).toBe('APPROVED');
  // Used: by a page that was opened before, and by another one.
  for (const used of [await customer.look(`${link}/`), await customer.submit(link, {})])
    expect([used.status, used.text.includes('This link has been used already')]).toEqual([410, true]);
  const back = await requestLink(stack, id, customer);
  expect((await useLink(customer, back)).heading).toBe('You are approved');
  // The first link was for this browser's application too, but before it moved.
  expect((await useLink(other, link)).status).toBe(410);
  await customer.look();
  await customer.submit('confirmation', { agree: 'yes' });
  expect(await statusOfOrder(stack, id)).toBe('SUCCESSFUL');
  expect((await other.look()).heading).toBe('This order is complete');
});

test('a double click on the button of a link continues once, and both responses lead to the application', async () => {
  const { id, url, customer } = await newOrder();
  await customer.apply();
  const other = customerAt(url);
  const link = await requestLink(stack, id, other);
  await other.look(`${link}/`);
  const responses = await Promise.all([other.send(link, {}), other.send(link, {})]);
  expect(responses.map(({ status }) => status)).toEqual([303, 303]);
  expect((await other.look()).heading).toBe('You are approved');
});

test('a link works for 30 minutes', async () => {
  const { id, url, customer } = await newOrder();
  await customer.apply();
  const other = customerAt(url);
  const link = await requestLink(stack, id, other);
  await other.look(`${link}/`);
  const age = (minutes: number) =>
    stack.db.query(
      `update application set link_requests = array(select t - $2 * interval '1 minute' from unnest(link_requests) t)
       where order_id = $1`,
      [id, minutes],
    );
  await age(30);
  for (const late of [await other.submit(link, {}), await other.look(`${link}/`)])
    expect([late.status, late.text.includes('is too old')]).toEqual([410, true]);
  await age(-2);
  await other.look();
  // The link depends on the time of its request, so this one is another.
  const fresh = await requestLink(stack, id, other);
  expect((await useLink(other, fresh)).heading).toBe('You are approved');
});

test('nobody can have the applicant written to more than three times an hour, from however many browsers', async () => {
  const { id, url, customer } = await newOrder();
  await customer.apply();
  const browsers = Array.from({ length: 12 }, () => customerAt(url));
  for (const browser of browsers) await browser.look();
  const answers = await Promise.all(browsers.map((browser) => browser.send('continue', {})));
  expect(answers.map(({ status }) => status).sort()).toEqual([
    ...Array<number>(3).fill(303),
    ...Array<number>(9).fill(429),
  ]);
  for (const answer of answers) expect(answer.text).not.toMatch(/bloggs|jo@|j…/i);
  const refused = answers.find(({ status }) => status === 429)!;
  expect(refused.text).toContain('Too many links were requested for this order');
  const requests = async () =>
    (
      await stack.db.query<{ n: number }>('select cardinality(link_requests) n from application where order_id = $1', [
        id,
      ])
    ).rows[0]!.n;
  expect(await requests()).toBe(3);
  // On a slow machine, a mail about the decision comes first.
  const links = async () => (await keptMails(stack, id)).filter((mail) => kindOf(mail) === 'link').length;
  await until(async () => (await links()) > 0, 'a link is sent');
  expect(await links()).toBeLessThanOrEqual(3);
  expect((await customer.look()).heading).toBe('You are approved');
  await stack.db.query(
    `update application set link_requests = array(select t - interval '61 minutes' from unnest(link_requests) t)
     where order_id = $1`,
    [id],
  );
  expect((await useLink(browsers[0]!, await requestLink(stack, id, browsers[0]!))).heading).toBe('You are approved');
  expect(await requests()).toBe(1);
});

test('a link that was guessed, or the link and the cookie of another order, do not open the application', async () => {
  const [one, two] = [await newOrder(), await newOrder()];
  await one.customer.apply();
  await two.customer.apply();
  const link = await requestLink(stack, one.id, customerAt(one.url));
  const other = customerAt(two.url);
  for (const wrong of [link, 'continue/x', `continue/${'A'.repeat(43)}`, `${link}x`]) {
    const page = await useLink(other, wrong);
    expect([page.status, page.heading]).toEqual([410, 'The application for this order is approved']);
  }
  const cookie = (await one.customer.look()).headers.get('Set-Cookie')!.split(';')[0]!;
  const page = await fetch(two.url, { headers: { Cookie: cookie } });
  expect(await page.text()).toContain(EXPLANATION);
});

test('a link for an earlier application of the order, whose address was wrong, does not open the next one', async () => {
  const { id, url, customer } = await newOrder();
  await customer.apply({ email: 'failed@typo.example' });
  const link = await requestLink(stack, id, customerAt(url));
  await customer.look();
  expect((await customer.submit('application', BUSINESS)).heading).toBe('You are approved');
  expect((await useLink(customerAt(url), link)).status).toBe(410);
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
  'a customer who returns from the bank in another browser reads the result (%s), and needs no link',
  async (outcome, heading, result) => {
    const { id, url, customer } = await newOrder();
    await customer.leaveAtBank(await customer.startPayment(), outcome);
    const other = customerAt(url);
    await other.look('return/');
    // The bank is asked by the workflow, and not for this browser.
    const page = await until(async () => {
      const shown = await other.look();
      return shown.heading === heading ? shown : undefined;
    }, 'the result is shown');
    expect(page.text.replace(/\s+/g, ' ')).toMatch(result);
    expect(page.text).not.toMatch(/Oak Bank (paid|refused)|Email me a link/);
    if (outcome === 'approved') expect(buttonTarget(page)).toBe(`${REDIRECT}?orderId=${id}`);
    // There is no address.
    expect(elsewhereOn(await customer.look())).toBeUndefined();
  },
);

test('no link is offered once an application is declined for good', async () => {
  const { url, customer } = await newCustomer(stack, { redirect_url: REDIRECT, allowed_payment_terms: ['PAY_LATER'] });
  const declined = await customer.apply({ email: 'declined@b.example' });
  expect([declined.heading, elsewhereOn(declined)]).toEqual(['Your application was not approved', undefined]);
  const page = await customerAt(url).look();
  expect([page.heading, page.text.includes(ASK), buttonTarget(page)]).toEqual([
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

test('before an application is submitted, the choice of a bank offers no link, because every browser may open it', async () => {
  const { customer } = await newOrder();
  await customer.decideAtBank(await customer.startPayment(), 'refused');
  const page = await customer.look();
  expect([page.heading, elsewhereOn(page)]).toEqual(['Choose your bank', undefined]);
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

test('the seller learns the outcome but no reason and no address through the API', async () => {
  const { id, customer } = await newOrder();
  await customer.apply({ email: 'declined@b.example' });
  await customer.submit('withdraw', {});
  expect(elsewhereOn(await customer.look())).toBeUndefined();
  await until(async () => (await statusOfOrder(stack, id)) === 'UNSUCCESSFUL', 'it is declined');
  const answers = JSON.stringify([(await stack.api.get(id)).body, await timelineOf(stack, id)]);
  expect(answers).toContain('declined by the lender');
  for (const secret of ['credit', 'affordability', 'b.example']) expect(answers).not.toContain(secret);
});
