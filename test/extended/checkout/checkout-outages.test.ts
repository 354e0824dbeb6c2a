import { BUSINESS, type Customer, customerAt, newCustomer, startCheckout } from '../../support/checkout';
import { isRunning, timelineOf, untilDue } from '../../support/orders';
import { type Proxy, startProxy } from '../../support/proxy';
import { until } from '../../support/until';
import { useResource } from '../../support/use-resource';

jest.setTimeout(300_000);

const REDIRECT = 'https://shop.example/thanks?from=checkout';

let proxy: Proxy;
const stack = useResource(
  async () => {
    proxy = await startProxy(process.env.TEST_TEMPORAL_ADDRESS!);
    return startCheckout({ env: { UPDATE_TIMEOUT_MS: '10000' }, address: proxy.address });
  },
  async (started) => {
    await started.stop();
    proxy.stop();
  },
);

describe('while Temporal is unavailable', () => {
  test('the pages load and accept applications, and a choice that gets 503 can be repeated', async () => {
    const orders = await Promise.all([stack.api.create(), stack.api.create()]);
    for (const { body } of orders) await until(() => isRunning(stack.client, body.data.id), 'the workflow runs');
    const [fresh, begun] = orders.map(({ body }) => customerAt(body.data.order_url)) as [Customer, Customer];
    await begun.look();
    expect((await begun.submit('choice', { payment_term: 'PAY_LATER' })).heading).toBe('About your business');
    proxy.blackHole();
    expect((await fresh.look()).heading).toBe('How would you like to pay?');
    const refused = await fresh.submit('choice', { payment_term: 'PAY_NOW' });
    expect([refused.status, refused.heading]).toEqual([503, 'The service is temporarily unavailable']);
    expect(refused.text).toContain('Nothing is lost');
    expect(refused.text).toContain('Test Shop Ltd');
    const again = await fresh.look();
    expect(again.heading).toBe('How would you like to pay?');
    // The choice was saved.
    expect(again.text.match(/value="(PAY_\w+)"[^>]* checked/)?.[1]).toBe('PAY_NOW');
    await begun.send('application', BUSINESS);
    expect((await begun.look()).heading).toBe('Waiting for the decision');
    proxy.restore();
    await until(async () => (await begun.look()).heading === 'You are approved', 'the lender has decided');
    const details = await until(async () => {
      const page = await fresh.submit('choice', { payment_term: 'PAY_NOW' });
      return page.status === 200 ? page : undefined;
    }, 'the workflow is reached again');
    expect(details.heading).toBe('Choose your bank');
  });

  test('an agreement is saved, the page states that the order is being completed, and it is completed later', async () => {
    const expires_at = new Date(Date.now() + 30_000).toISOString();
    const { id, order_url: url } = (await stack.api.create({ redirect_url: REDIRECT, expires_at })).body.data;
    await until(() => isRunning(stack.client, id), 'the workflow runs');
    const customer = customerAt(url);
    expect((await customer.apply()).heading).toBe('You are approved');
    proxy.blackHole();
    const page = await customer.submit('confirmation', { agree: 'yes' });
    expect([page.status, page.heading]).toEqual([200, 'We are completing your order']);
    expect(page.headers.get('Refresh')).toBe(`5;url=${new URL(url).pathname}return/`);
    expect((await customer.submit('confirmation', {})).heading).toBe('We are completing your order');
    await untilDue(stack.db, id);
    proxy.restore();
    await until(async () => (await customer.look()).heading === 'Your order is complete', 'it is completed');
    expect((await customer.look('return/')).headers.get('Refresh')).toBe(`15;url=${REDIRECT}&orderId=${id}`);
    expect((await timelineOf(stack, id)).at(-1)).toMatchObject({
      event: 'completed',
      actor: 'customer',
      channel: 'hosted_checkout',
    });
  });
});

describe('while Postgres is unavailable', () => {
  test('the application form keeps what the customer typed, and other pages state that nothing is lost', async () => {
    const { customer } = await newCustomer(stack);
    await customer.look();
    await customer.submit('choice', { payment_term: 'PAY_LATER' });
    await stack.db.query(`
      create function fail() returns trigger language plpgsql as $$ begin raise 'gone' using errcode = '57P01'; end $$;
      create trigger fail before update on application for each row execute function fail()`);
    const page = await customer.submit('application', BUSINESS);
    expect([page.status, page.heading]).toEqual([503, 'About your business']);
    expect(page.text).toContain('role="alert"');
    expect(page.text).toContain('value="Bloggs &amp; Daughters Ltd"');
    await stack.db.query('drop function fail() cascade');
    expect((await customer.submit('application', BUSINESS)).heading).toBe('You are approved');
    await stack.db.query('alter table application rename to application_away');
    await stack.db.query(
      `create function application() returns setof application_away language plpgsql as $$ begin raise 'gone' using errcode = '57P01'; end $$;
       create view application as select * from application()`,
    );
    const unavailable = await customer.look();
    expect([unavailable.status, unavailable.heading]).toEqual([503, 'The service is temporarily unavailable']);
    expect(unavailable.text).toContain('Nothing is lost');
    await stack.db.query('drop function application() cascade');
    await stack.db.query('alter table application_away rename to application');
    expect((await customer.look()).heading).toBe('You are approved');
  });
});
