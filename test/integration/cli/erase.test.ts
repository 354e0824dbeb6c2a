import { randomUUID } from 'node:crypto';
import { applied } from '../../support/checkout';
import { type CliRun, expectError, runCli } from '../../support/cli';
import { startTestServer } from '../../support/listening-server';
import { noWebhookPending, statusOf } from '../../support/orders';
import { expectProblem } from '../../support/problems';
import { useSharedStack } from '../../support/shared-stack';
import { withNewSeller } from '../../support/stack';
import { until } from '../../support/until';
import { useResource } from '../../support/use-resource';

const stack = useSharedStack();
/** Echoes what it gets, as some endpoints do. */
const endpoint = useResource(
  () => startTestServer((request, response) => void request.pipe(response)),
  (server) => server.close(),
);

const cli = (args: string[], input = ''): Promise<CliRun> => runCli(args, stack.env, input);

interface Person {
  name: string;
  email: string;
  /** What a shop may send about the person. */
  data: Record<string, unknown>;
}

function newPerson(local = 'declined+'): Person {
  const name = `jane-${randomUUID().slice(0, 8)}`;
  return {
    name,
    email: `${local}${name}@bloggs.example`,
    data: {
      webhook_url: `${endpoint.url}/hooks/${name}`,
      redirect_url: `https://shop.example/customers/${name}/done?email=${name}`,
      cancel_url: `https://shop.example/${name}/cart`,
      meta_data: { customer: { name } },
    },
  };
}

/** Creates an order that a person has applied for and that failed with a reason. */
async function closedOrder({ email, name, data }: Person, on = stack): Promise<string> {
  const id = await applied(on, email, { data });
  const decided = `select from application where order_id = $1 and decision is not null`;
  await until(async () => (await stack.db.query(decided, [id])).rowCount === 1, 'the lender has decided');
  expect((await on.api.progress(id, 'failed', `${name} has called`)).status).toBe(200);
  await until(() => noWebhookPending(stack, [id]), 'no webhook is pending');
  await stack.client.workflow.getHandle(`order-${id}`).result();
  const written = `select from sandbox_mail where order_id = $1 and id like 'closed.%'`;
  await until(async () => (await stack.db.query(written, [id])).rowCount === 1, 'the customer is told');
  return id;
}

/** The tables of the database that hold a text, in any column. */
async function tablesWith(text: string): Promise<string[]> {
  const { rows } = await stack.db.query<{ name: string }>(
    `select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`,
  );
  const found = [];
  for (const { name } of rows) {
    const { rowCount } = await stack.db.query(
      `select from ${name} t where strpos(lower(to_jsonb(t)::text), lower($1)) > 0`,
      [text],
    );
    if (rowCount !== 0) found.push(name);
  }
  return found.sort();
}

test('customer erase leaves nothing of a person in any table, and keeps what accounts need', async () => {
  const person = newPerson();
  const [id, other] = [await closedOrder(person), await closedOrder(newPerson())];
  expect(await tablesWith(person.name)).toEqual([
    ...['application', 'order_timeline', 'orders', 'sandbox_mail', 'webhook_attempt', 'webhook_event'],
  ]);
  const before = (await stack.api.get(id)).body.data;
  const asked = await cli(['customer', 'erase', '--email', person.email.toUpperCase()], 'y\n');
  expect(asked.code).toBe(0);
  expect(asked.stderr).toContain(id);
  expect(asked.stderr).toMatch(
    /Erase of 1 orders: .*webhooks.*\? Amounts, references, .* stay, for the accounts\. \[y\/N\]/,
  );
  expect(asked.stdout).toMatch(new RegExp(`${id} .* erased`));
  expect(await tablesWith(person.name)).toEqual([]);
  const { redirect_url, ...after } = (await stack.api.get(id)).body.data;
  const { amount, reference, status, created_at, updated_at, seller_name, unsuccessful_reason } = before;
  expect(after).toMatchObject({ amount, reference, status, created_at, updated_at, seller_name, unsuccessful_reason });
  expect(redirect_url).toBe('https://shop.example/');
  expect(after).not.toHaveProperty('meta_data');
  // Another customer's data stays.
  expect((await stack.api.get(other)).body.data).toHaveProperty('meta_data');
  // The record has neither the address nor the name, and the id of the order.
  const audit = await cli(['audit', '--about', id, '--json']);
  expect(audit.json()).toMatchObject([
    { command: 'customer erase', outcome: 'succeeded', arguments: { erased: [id] } },
  ]);
  expect(await cli(['customer', 'erase', '--email', person.email, '--yes'])).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/no application of this customer is stored: pass --order/),
  });
});

test('customer erase changes nothing without a yes', async () => {
  const person = newPerson();
  await closedOrder(person);
  const tables = await tablesWith(person.name);
  const refused = await cli(['customer', 'erase', '--email', person.email], 'n\n');
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringMatching(/nothing was changed/) });
  expect(await tablesWith(person.name)).toEqual(tables);
});

test('customer erase finds an order by its id, its reference or the company', async () => {
  const [person, again] = [newPerson(), newPerson()];
  const id = await closedOrder(person);
  const { reference } = (await stack.api.get(id)).body.data;
  expect((await cli(['customer', 'erase', '--order', reference, '--yes'])).code).toBe(0);
  expect(await tablesWith(person.name)).toEqual([]);
  const company = `C${randomUUID().slice(0, 7)}`;
  const found = await closedOrder(again);
  await stack.db.query('update application set company_number = $2 where order_id = $1', [found, company]);
  expect((await cli(['customer', 'erase', '--company', company, '--yes'])).code).toBe(0);
  expect(await tablesWith(again.name)).toEqual([]);
  expectError(await cli(['customer', 'erase', '--yes']), 2, /pass --email, --company or --order/);
});

test.each<[string, RegExp, (id: string) => Promise<unknown>]>([
  [
    'a payment is not settled',
    /a payment is not settled: see payment list/,
    (id) => stack.db.query(`insert into payment (order_id, bank, status) values ($1, 'oak', 'paid')`, [id]),
  ],
  [
    'a webhook is pending',
    /a webhook is pending/,
    (id) => stack.db.query(`update webhook_event set state = 'pending' where order_id = $1 and sequence = 1`, [id]),
  ],
])('customer erase refuses an order and says why if %s', async (_, reason, obstruct) => {
  const person = newPerson();
  const id = await closedOrder(person);
  await obstruct(id);
  const tables = await tablesWith(person.name);
  const refused = await cli(['customer', 'erase', '--email', person.email, '--yes']);
  expect(refused.code).toBe(1);
  expect(refused.stdout).toMatch(new RegExp(`${id} .* refused +${reason.source}`));
  expect(await tablesWith(person.name)).toEqual(tables);
});

test('customer erase refuses an open order, and erases the closed ones of the same person', async () => {
  const person = newPerson('referred+');
  const open = await applied(stack, person.email, { data: person.data });
  const closed = await closedOrder({ ...person, email: person.email.replace('referred', 'declined') });
  await stack.db.query('update application set email = $2 where order_id = $1', [closed, person.email]);
  const run = await cli(['customer', 'erase', '--email', person.email, '--yes']);
  expect(run.code).toBe(1);
  expect(run.stdout).toMatch(new RegExp(`${open} .* refused +the order is open: cancel it first`));
  expect(run.stdout).toMatch(new RegExp(`${closed} .* erased`));
  expect((await stack.api.get(open)).body.data.meta_data).toEqual(person.data.meta_data);
  expect((await stack.api.get(closed)).body.data).not.toHaveProperty('meta_data');
});

test('customer export prints what is held, without the endpoint of the seller', async () => {
  const person = newPerson();
  const id = await closedOrder(person);
  const { code, json } = await cli(['customer', 'export', '--email', person.email]);
  expect(code).toBe(0);
  const [held] = json();
  expect(held).toMatchObject({
    order: { id, meta_data: person.data.meta_data },
    application: { email: person.email, business_name: 'Bloggs Ltd', company_number: '01234567' },
    payments: [],
    idempotency_keys: [{ order_id: id }],
  });
  expect(held.timeline.at(-1).reason).toBe(`${person.name} has called`);
  expect(held.webhooks).toHaveLength(2);
  expect(held.webhook_attempts[0].response_body).toContain(person.name);
  expect(held.order).not.toHaveProperty('webhook_url');
  // It changes nothing, so it is not in the audit log.
  expect((await cli(['audit', '--about', person.email, '--json'])).json()).toEqual([]);
});

test('seller erase deletes credentials, contacts and customers’ data of an account, and refuses an open order', async () => {
  const on = await withNewSeller(stack, { sandbox: true });
  const account = on.seller;
  const [person, contact] = [newPerson(), `mail-${randomUUID().slice(0, 8)}@shop.example`];
  const id = await closedOrder(person, on);
  const open = (await on.api.create()).body.data.id as string;
  await cli([
    'seller',
    'update',
    account.id,
    '--contact-email',
    contact,
    '--redirect-url',
    `https://shop.example/${contact.split('@')[0]}`,
  ]);
  const mark = contact.split('@')[0]!;
  expect(await tablesWith(mark)).toEqual(['branding', 'operator_action', 'seller']);
  expect(await tablesWith(contact)).toEqual(['branding']);
  expectError(
    await cli(['seller', 'erase', account.id, '--yes']),
    1,
    new RegExp(`of order ${open}, the order is open`),
  );
  expect((await on.api.get(id)).status).toBe(200);
  await on.api.cancel(open);
  await until(async () => (await statusOf(stack.client, open)) === 'COMPLETED', 'its workflow has ended');
  const refused = await cli(['seller', 'erase', account.id], 'n\n');
  expect(refused.stderr).toMatch(
    /Erase the account of .*, its keys and settings, .* stay, for the accounts\. \[y\/N\]/,
  );
  const erased = await cli(['seller', 'erase', account.id, '--yes', '--json']);
  expect(erased.json()).toEqual({ seller_id: account.id, orders_erased: 2, orders_refused: 0 });
  expect(await tablesWith(person.name)).toEqual([]);
  // The audit log has the URLs that operators set.
  expect(await tablesWith(mark)).toEqual(['operator_action']);
  // The API knows the key for a second.
  await until(async () => (await on.api.get(id)).status === 401, 'the key is refused');
  expectProblem(await on.api.get(id), 401, 'unauthorized');
  const { rows } = await stack.db.query(
    `select name, disabled_at is not null as disabled, default_redirect_url as url, webhook_headers as headers,
       (select count(*)::int from webhook_secret where seller_id = s.id) as secrets,
       (select bool_and(revoked_at is not null) from api_key where seller_id = s.id) as revoked
     from seller s where id = $1`,
    [account.id],
  );
  expect(rows).toEqual([
    { name: expect.any(String), disabled: true, url: null, headers: null, secrets: 0, revoked: true },
  ]);
  const shown = await cli(['order', 'show', id, '--json']);
  expect(shown.json()).toMatchObject({ status: 'UNSUCCESSFUL', amount: 1234.5 });
});
