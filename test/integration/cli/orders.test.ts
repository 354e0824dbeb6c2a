import { randomUUID } from 'node:crypto';
import { BASE } from '../../support/api';
import { type CliRun, expectError, runCli } from '../../support/cli';
import { openOrder, timelineOf } from '../../support/orders';
import { holdTransaction } from '../../support/database';
import { createSeller, useStack, withNewSeller } from '../../support/stack';
import { useReceiver } from '../../support/receiver';
import { until } from '../../support/until';

const stack = useStack();
const receiver = useReceiver('test');

const cli = (...args: string[]): Promise<CliRun> => runCli(args, stack.env);

async function json(...args: string[]): Promise<any> {
  const run = await runCli([...args, '--json'], stack.env);
  expect(run).toMatchObject({ stderr: '', code: 0 });
  return run.json();
}

test('order show prints the order as its seller sees it, and further fields for operators', async () => {
  const { body } = await stack.api.create({ webhook_url: 'https://shop.example/hook', source: 'plugin' });
  const { id } = body.data;
  const shown = await json('order', 'show', id);
  expect(shown).toMatchObject((await stack.api.get(id)).body.data);
  expect(shown).toMatchObject({
    seller_id: stack.seller.id,
    webhook_url: 'https://shop.example/hook',
    created_at: expect.any(String),
    expires_at: null,
    version: 1,
    workflow_id: `order-${id}`,
    payments: [],
  });
  const { stdout } = await cli('order', 'show', id);
  expect(stdout).toMatch(/^status: +CREATED$/m);
  expect(stdout).toMatch(/^order_url: +https:\/\/checkout.example\/pay\/\S+$/m);
});

test('order list prints orders newest first, filtered by seller, status, time and reference, in pages', async () => {
  const other = await createSeller(stack.db);
  const create = async (reference: string) => {
    const path = `${BASE}/seller/${other.id}/order/`;
    const response = await stack.api.call('POST', path, {
      key: other.key,
      body: { data: { amount: 12.5, reference } },
    });
    return response.body.data.id as string;
  };
  const ids = [await create('first'), await create('second'), await create('third')].reverse();
  const listed = async (...options: string[]) => {
    const orders: { id: string }[] = await json('order', 'list', '--seller', other.id, ...options);
    return orders.map(({ id }) => id);
  };
  expect(await listed()).toEqual(ids);
  expect(await listed('--limit', '2')).toEqual(ids.slice(0, 2));
  expect(await listed('--after', ids[1]!)).toEqual(ids.slice(2));
  expect(await listed('--after', ids[2]!)).toEqual([]);
  const unknown = await cli('order', 'list', '--after', '00000000-0000-4000-8000-000000000000');
  expect(unknown).toMatchObject({ code: 1, stderr: expect.stringMatching(/order 00000000-\S+ does not exist/) });
  expect(await listed('--status', 'PENDING')).toEqual([]);
  expect(await listed('--since', '2026-01-01')).toEqual(ids);
  expect(await listed('--until', '2026-01-01')).toEqual([]);
  const [found] = await json('order', 'list', '--reference', 'second');
  expect(found).toEqual({
    id: ids[1],
    seller_id: other.id,
    seller_name: 'Test Shop Ltd',
    mode: 'live',
    reference: 'second',
    amount: 12.5,
    status: 'CREATED',
    waiting_for: 'the customer has not chosen',
    created_at: expect.any(String),
    cancelled_at: null,
  });
  expect((await cli('order', 'list', '--seller', other.id)).stdout.split('\n')[1]).toMatch(
    new RegExp(`^${ids[0]}  ${other.id}  Test Shop Ltd  live  third +12.5 +CREATED`),
  );
  expect((await cli('order', 'list', '--status', 'SUCCESSFUL')).stdout).toBe('none\n');
});

test('order show finds an order by its pay link, and order list says what each open order waits for', async () => {
  const fresh = await openOrder(stack);
  const chosen = await openOrder(stack, {}, ['signup_started']);
  const referred = await openOrder(stack, {}, ['signup_started']);
  const declined = await openOrder(stack, {}, ['signup_started']);
  const paying = await openOrder(stack, {}, ['signup_started']);
  const closed = await openOrder(stack, {}, ['failed']);
  await stack.db.query(
    `insert into application (order_id, payment_term, submitted_at, browser_digest, business_name, company_number, email,
       monthly_turnover_pence, referred_at, decision, decided_at, decline_code)
     values ($1, 'PAY_LATER', null, null, null, null, null, null, null, null, null, null),
       ($2, 'PAY_LATER', '2026-11-01', '\\x00', 'B', '01234567', 'jo@b.example', 1, '2026-11-01', null, null, null),
       ($3, 'PAY_LATER', '2026-11-01', '\\x00', 'B', '01234567', 'jo@b.example', 1, null, 'declined', '2026-11-02', 'other')`,
    [chosen, referred, declined],
  );
  await stack.db.query(`insert into payment (order_id, bank, started_at) values ($1, 'oak', '2026-11-01')`, [paying]);
  const listed: { id: string; waiting_for: string | null }[] = await json('order', 'list', '--limit', '1000');
  const waits = new Map(listed.map(({ id, waiting_for }) => [id, waiting_for]));
  expect([fresh, chosen, referred, declined, paying, closed].map((id) => waits.get(id))).toEqual([
    'the customer has not chosen',
    'the customer has not applied',
    'the lender reviews since 2026-11-01T00:00:00Z',
    'the customer continues after a decline',
    'the customer approves the payment at the bank since 2026-11-01T00:00:00Z',
    null,
  ]);
  const { order_url: link } = (await stack.api.get(declined)).body.data;
  const shown = await json('order', 'show', link);
  expect(shown).toMatchObject({ id: declined, waiting_for: waits.get(declined) });
  expect(shown.applications).toEqual([
    expect.objectContaining({ decision: 'declined', decline_code: 'other', decided_at: '2026-11-02T00:00:00.000Z' }),
  ]);
  expect(JSON.stringify(shown)).not.toContain('jo@b.example');
  expect(await cli('order', 'show', link.replace(/.$/, '0/'))).toMatchObject({ code: 1 });
});

test('key find names the owner of a key by its first characters, and takes no whole key', async () => {
  const { key } = await createSeller(stack.db);
  const [found, ...others] = await json('key', 'find', key.slice(0, 12));
  expect(others.every(({ starts_with }: { starts_with: string }) => key.startsWith(starts_with))).toBe(true);
  expect(found).toMatchObject({ kind: 'seller', seller_name: 'Test Shop Ltd', starts_with: key.slice(0, 8) });
  expect(await json('key', 'find', 'sk_-none-here')).toEqual([]);
  expect(await cli('key', 'find', key)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('not the whole key'),
  });
});

test('order list and order export select orders by amount and by the time of their completion', async () => {
  const other = await createSeller(stack.db);
  const create = async (amount: number): Promise<string> =>
    (
      await stack.api.call('POST', `${BASE}/seller/${other.id}/order/`, {
        key: other.key,
        body: { data: { amount, reference: `=${randomUUID()}` } },
      })
    ).body.data.id;
  const open = await create(12.5);
  const done = await create(30);
  for (const event of ['signup_started', 'approved', 'completed']) await stack.api.progress(done, event);
  const listed = async (...options: string[]) =>
    (await json('order', 'list', '--seller', other.id, ...options)).map(({ id }: { id: string }) => id);
  expect(await listed('--amount', '12.50')).toEqual([open]);
  expect(await listed('--amount', '13')).toEqual([]);
  expect(await listed('--completed-since', '2026-01-01')).toEqual([done]);
  expect(await listed('--completed-until', '2026-01-01')).toEqual([]);

  const exported = async (...options: string[]) =>
    (await cli('order', 'export', '--seller', other.id, ...options)).stdout.split('\r\n');
  const [head, ...lines] = await exported();
  expect(head).toMatch(/^id,reference,status,amount,/);
  expect(lines).toEqual([
    expect.stringMatching(new RegExp(`^${done},'=[^,]+,SUCCESSFUL,30.00,,20[^,]+Z,20[^,]+Z,,,,,$`)),
    expect.stringMatching(new RegExp(`^${open},'=[^,]+,CREATED,12.50,,20[^,]+Z,,,,,,$`)),
    '',
  ]);
  expect(await exported('--completed-since', '2026-01-01')).toEqual([head, lines[0], '']);
  expect(await exported('--amount', '1')).toEqual([head, '']);

  const refusal = (...args: string[]) => cli('order', ...args);
  expect(await refusal('list', '--amount', '1.001')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('pounds'),
  });
  expect(await refusal('export')).toMatchObject({ code: 2, stderr: expect.stringContaining('--seller') });
  expect(await refusal('export', '--seller', randomUUID())).toMatchObject({ code: 1, stdout: '' });
  expect(await refusal('export', '--json', '--seller', other.id)).toMatchObject({ code: 2, stdout: '' });
});

describe('a reference in place of an id', () => {
  test('selects the only order that has it', async () => {
    const reference = `Größe ${randomUUID()}`;
    const id = await openOrder(stack, { reference });
    expect(await json('order', 'show', reference)).toMatchObject({ id, reference });
    expect(await json('order', 'timeline', reference.normalize('NFD'))).toEqual([
      expect.objectContaining({ event: 'created' }),
    ]);
    expect(await json('order', 'cancel', reference, '--yes')).toMatchObject({ id, status: 'UNSUCCESSFUL' });
  });

  test('of several orders changes none of them, and lists them, newest first', async () => {
    const reference = `R-${randomUUID()}`;
    const first = await openOrder(stack, { reference, amount: 12.5 }, ['failed']);
    const second = await openOrder(stack, { reference, amount: 30 });
    for (const command of ['show', 'timeline', 'cancel']) {
      const { code, stdout, stderr } = await cli('order', command, reference);
      expect([code, stdout]).toEqual([1, '']);
      expect(stderr.split('\n').map((line) => line.replace(/ {2,}/g, ' ').replace(/ \S+Z$/, ' at'))).toEqual([
        `error: 2 orders have the reference ${reference}: pass the id of one`,
        'id seller_name amount status created_at',
        `${second} Test Shop Ltd 30 CREATED at`,
        `${first} Test Shop Ltd 12.5 UNSUCCESSFUL at`,
        '',
      ]);
    }
  });

  test('that is the id of another order selects the order with this id', async () => {
    const id = await openOrder(stack);
    const other = await openOrder(stack, { reference: id });
    expect(await json('order', 'show', id)).toMatchObject({ id });
    expect((await json('order', 'list', '--reference', id))[0]).toMatchObject({ id: other });
  });
});

test("order cancel goes through the workflow, and timeline and webhook show the operator's reason", async () => {
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started']);
  const cancelled = await json('order', 'cancel', id, '--reason', 'asked for by phone');
  expect(cancelled).toEqual({ id, status: 'UNSUCCESSFUL', cancelled_at: expect.any(String) });
  expect((await stack.api.get(id)).body.data).toMatchObject(cancelled);
  expect((await timelineOf(stack, id)).at(-1)).toMatchObject({
    event: 'cancel',
    from_status: 'PENDING',
    to_status: 'UNSUCCESSFUL',
    actor: 'operator',
    channel: 'cli',
    reason: 'asked for by phone',
  });
  await until(() => receiver.deliveries.length === 2, 'the webhook arrives');
  expect(receiver.deliveries[1]!.body.data).toMatchObject({ actor: 'operator', reason: 'asked for by phone' });
  expect(await json('order', 'cancel', id)).toEqual(cancelled);
  const repeated = await cli('order', 'cancel', id, '--reason', 'once more');
  expect(repeated.stdout).toContain('\nThe order was already cancelled: the reason was not recorded.\n');
  expect((await cli('order', 'cancel', id)).stdout).not.toContain('reason');
});

test('order timeline prints a line for each change and webhook attempt, with reasons, responses and the next attempt', async () => {
  receiver.answerWith(() => (receiver.deliveries.length === 1 ? 500 : 200));
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started']);
  const timeline = () => stack.api.call('GET', `${BASE}/order/${id}/timeline/`);
  await until(async () => (await timeline()).body.data.length === 4, 'both attempts are recorded');
  await stack.db.query(
    `update webhook_attempt a set response_body = $2 from webhook_event e
     where e.id = a.event_id and e.order_id = $1 and a.attempt = 1`,
    [id, `<b>\nno such ${'x'.repeat(300)}`],
  );
  const { body } = await timeline();
  expect(await json('order', 'timeline', id)).toEqual(body.data);
  const lines = (await cli('order', 'timeline', id)).stdout.trimEnd().split('\n');
  expect(lines.map((line) => line.split(/ {2,}/).slice(1))).toEqual([
    ['what', 'by', 'outcome', 'details'],
    ['created', 'seller (api)', '- -> CREATED'],
    ['signup_started', 'checkout (api)', 'CREATED -> PENDING'],
    [
      'webhook 1, attempt 1',
      'system',
      'http_status',
      expect.stringMatching(
        `^answered 500 \\(webhook ${body.data[2].webhook_id}\\); response: <b> no such x{188}; next attempt: \\S+Z$`,
      ),
    ],
    ['webhook 1, attempt 2', 'system', '200', 'response: thanks'],
  ]);
});

describe('text from outside with control and direction characters', () => {
  const HOSTILE = '\u009b2J\u009d0;pwned\u0007\u202egnp\u2066\u200e\u061c\u2028\u0085\u007f';
  const UNSAFE = /[^\P{Cc}\n]|[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/u;

  test('in meta_data is printed as escapes, and --json stays JSON with the same values', async () => {
    const body = `{"data":{"amount":12.5,"reference":"${randomUUID()}","meta_data":{\t"${HOSTILE.replace('\u0007', '')}":\r\n"x${HOSTILE.replace('\u0007', '\\u0007')}"\t}}}`;
    const path = `${BASE}/seller/${stack.seller.id}/order/`;
    const created = await stack.api.call('POST', path, { body });
    expect(created.status).toBe(201);
    const { id } = created.body.data;
    const { meta_data } = (await stack.api.get(id)).body.data;
    expect(UNSAFE.test(Object.keys(meta_data)[0]!)).toBe(true);
    const run = await cli('order', 'show', id, '--json');
    expect(run.stdout).not.toMatch(UNSAFE);
    expect(run.json().meta_data).toEqual(meta_data);
    const table = (await cli('order', 'show', id)).stdout;
    expect(table).not.toMatch(UNSAFE);
    expect(table).toMatch(/^meta_data: +\{"\\u009b2J.*\}$/m);
  });

  test("in a cancellation's reason and an argument is printed as escapes", async () => {
    const id = await openOrder(stack);
    await stack.db.query('update order_timeline set reason = $2 where order_id = $1', [id, HOSTILE]);
    const { stdout } = await cli('order', 'timeline', id);
    expect(stdout).not.toMatch(UNSAFE);
    expect(stdout).toContain('\\u202egnp');
    const { stderr } = await cli('order', 'show', `${HOSTILE}x`);
    expect(stderr).not.toMatch(UNSAFE);
    expect(stderr).toContain('\\u202egnp');
  });
});

test('payment list and order show print what a customer has paid for a reference, also with two orders', async () => {
  const reference = `R-${randomUUID()}`;
  const first = await openOrder(stack, { reference, amount: 12.5 }, ['failed']);
  const second = await openOrder(stack, { reference, amount: 30 });
  const pay = async (id: string, bank: string, status: string, isClosed: boolean) => {
    const { rows } = await stack.db.query<{ id: string }>(
      `insert into payment (order_id, bank, status, closed_at) values ($1, $2, $3, case when $4 then now() end)
       returning id`,
      [id, bank, status, isClosed],
    );
    return rows[0]!.id;
  };
  const [refused, paid, again] = [
    await pay(second, 'oak', 'refused', true),
    await pay(second, 'elm', 'paid', true),
    await pay(first, 'oak', 'paid', false),
  ];
  const listed = await json('payment', 'list', '--order', reference);
  expect(listed.map(({ payment_id }: any) => payment_id)).toEqual([again, paid, refused]);
  expect(listed[1]).toEqual({
    ...{ payment_id: paid, amount: 30, bank: 'elm', status: 'paid' },
    ...{ started_at: expect.any(String), closed_at: expect.any(String) },
    ...{ order_id: second, seller_id: stack.seller.id, reference, order_status: 'CREATED' },
  });
  expect((await json('payment', 'list', '--limit', '1'))[0]).toEqual(listed[0]);
  const toReverse = await json('payment', 'list', '--to-reverse', '--order', reference);
  expect(toReverse).toEqual([listed[0]]);
  expectError(await cli('payment', 'list', '--order', 'x'), 1, /order x does not exist/);

  const { payments } = await json('order', 'show', second);
  expect(payments.map(({ payment_id }: any) => payment_id)).toEqual([paid, refused]);
  const { stdout } = await cli('order', 'show', first);
  expect(stdout).toMatch(new RegExp(`^payments:\\npayment_id +amount .*\\n${again} +12.5 +oak +paid `, 'm'));
});

describe('order cancel with a filter', () => {
  let sellerId: string;
  let ids: string[];
  const cancel = (...options: string[]) =>
    json('order', 'cancel', '--seller', sellerId, '--yes', '--operator', 'night shift', ...options);
  const asked = (answer: string, ...options: string[]) =>
    runCli(['order', 'cancel', '--reason', 'shop closed', ...options], stack.env, answer);
  beforeAll(async () => {
    const other = await withNewSeller(stack);
    sellerId = other.seller.id;
    ids = [];
    for (const events of [[], [], ['signup_started'], ['signup_started', 'approved', 'completed']]) {
      ids.push(await openOrder(other, { amount: 1212.5 }, events));
    }
  });

  test('asks with the number and amount of the open orders, and cancels none unless the answer is yes', async () => {
    const question = 'Cancel 3 open orders of Test Shop Ltd, £3,637.50 in all? [y/N] ';
    for (const answer of ['', '\n', 'n\n', 'yesterday\n']) {
      const run = await asked(answer, '--seller', sellerId);
      expect([run.code, run.stdout]).toEqual([1, '']);
      expect(run.stderr).toContain(question);
      expect(run.stderr).toMatch(/error: nothing was changed: answer y, or pass --yes\n$/);
    }
    const pending = await asked('n\n', '--seller', sellerId, '--status', 'PENDING');
    expect(pending.stderr).toContain('Cancel 1 open orders of Test Shop Ltd, £1,212.50 in all?');
    const all = await asked('n\n', '--all-sellers', '--until', '2026-01-01');
    expect(all.stderr).toContain('Cancel 0 open orders of all sellers, £0.00 in all?');
    const listed = await json('order', 'list', '--seller', sellerId, '--status', 'UNSUCCESSFUL');
    expect(listed).toEqual([]);
  });

  test('needs a reason, a filter, and an account that exists or --all-sellers', async () => {
    expectError(await cli('order', 'cancel', '--seller', sellerId), 2, /cancelling by a filter requires --reason/);
    expectError(await cli('order', 'cancel', '--reason', 'all'), 2, /select one order, or orders by a filter/);
    expectError(await cli('order', 'cancel', ids[0]!, '--seller', sellerId), 2, /select one order, or orders/);
    expectError(await cli('order', 'cancel', ids[0]!, '--all-sellers'), 2, /select one order, or orders/);
    const scope = /a filter requires --seller <seller-id> or --all-sellers/;
    expectError(await asked('y\n', '--status', 'PENDING', '--yes'), 2, scope);
    expectError(await asked('y\n', '--all-sellers', '--seller', sellerId), 2, /cannot be used with option/);
    expectError(await asked('', '--seller', sellerId, '--status', 'SUCCESSFUL'), 2, /Allowed choices are CREATED/);
    expectError(await asked('', '--seller', randomUUID()), 1, /does not exist/);
  });

  test('reports the orders that fail, exits with 1, and can be repeated', async () => {
    await stack.stopWorker();
    const env = { ...stack.env, UPDATE_TIMEOUT_MS: '500' };
    const args = ['order', 'cancel', '--seller', sellerId, '--status', 'PENDING', '--reason', 'shop closed', '--yes'];
    const run = await runCli([...args, '--operator', 'day shift'], env);
    expect(run).toMatchObject({ code: 1, stderr: expect.stringMatching(/^error: 1 orders are not cancelled: repeat/) });
    expect(run.stdout).toMatch(new RegExp(`^${ids[2]} failed: The outcome is unknown`));
    expect(run.stdout).toMatch(/^failed: +1$/m);
    await stack.startWorker();
    const [{ outcome }] = await json('audit', '--by', 'day shift');
    expect(outcome).toBe('failed');
  });

  test('leaves an order that changes between its selection and its cancel', async () => {
    const { seller, api } = await withNewSeller(stack);
    const id = await openOrder({ ...stack, api });
    const held = await holdTransaction(stack.db, 'select from orders where id = $1 for update', [id]);
    const changed = api.progress(id, 'signup_started');
    const cancelled = asked('', '--seller', seller.id, '--status', 'CREATED', '--yes');
    await until(async () => {
      const { events = [] } = await stack.client.workflow.getHandle(`order-${id}`).fetchHistory();
      return events?.filter((event) => event.workflowExecutionUpdateAcceptedEventAttributes).length === 2;
    }, 'the workflow has both changes');
    await held.rollback();
    expect((await changed).status).toBe(200);
    expect((await cancelled).stdout).toMatch(
      new RegExp(`^${id} refused: it was CREATED, and has changed meanwhile\n(.*\n)*refused: +1$`, 'm'),
    );
    expect((await api.get(id)).body.data.status).toBe('PENDING');
  });

  test('cancels the open orders, whose timelines have the reason, and is in the audit log', async () => {
    // A busy machine: the answer is for the first orders only.
    expect((await asked('y\n', '--seller', sellerId, '--operator', 'night shift')).stdout).toMatch(/^cancelled: +\d$/m);
    await until(async () => (await cancel('--reason', 'shop closed')).failed === 0, 'no cancel fails');
    const statuses = await json('order', 'list', '--seller', sellerId);
    expect(statuses.map(({ status }: { status: string }) => status)).toEqual([
      'SUCCESSFUL',
      ...['UNSUCCESSFUL', 'UNSUCCESSFUL', 'UNSUCCESSFUL'],
    ]);
    for (const id of ids.slice(0, 3)) {
      expect((await timelineOf(stack, id)).at(-1)).toMatchObject({ actor: 'operator', reason: 'shop closed' });
    }
    const [{ command, arguments: recorded, outcome }] = await json('audit', '--by', 'night shift');
    expect([command, outcome]).toEqual(['order cancel', 'succeeded']);
    expect(recorded.options).toMatchObject({ seller: sellerId, reason: 'shop closed' });
  });
});

test('order cancel rejects a SUCCESSFUL order', async () => {
  const id = await openOrder(stack, {}, ['signup_started', 'approved', 'completed']);
  expectError(await cli('order', 'cancel', id), 1, /The order is SUCCESSFUL and cannot be cancelled/);
});

test.each(['show', 'timeline', 'cancel'])('order %s reports that an unknown order does not exist', async (command) => {
  const id = randomUUID();
  expectError(await cli('order', command, id), 1, new RegExp(`order ${id} does not exist$`, 'm'));
});

describe('order cancel prints a one-line error', () => {
  let id: string;
  beforeAll(async () => {
    id = await openOrder(stack);
  });

  test('that names the address if Temporal is down', async () => {
    const run = await runCli(['order', 'cancel', id], { ...stack.env, TEMPORAL_ADDRESS: '127.0.0.1:1' });
    expectError(run, 1, /Temporal is unavailable at 127.0.0.1:1/);
  });

  test('that names the namespace if it does not exist', async () => {
    const run = await runCli(['order', 'cancel', id], { ...stack.env, TEMPORAL_NAMESPACE: 'elsewhere' });
    expectError(run, 1, /elsewhere/);
  });

  test('and does not run if Postgres refuses to record it in the audit log', async () => {
    const reading = new URL(stack.databaseUrl);
    reading.searchParams.set('options', '-c default_transaction_read_only=on');
    const run = await runCli(['order', 'cancel', id, '--operator', 'al'], { ...stack.env, DATABASE_URL: reading.href });
    expectError(run, 1, /read-only transaction/);
    expect((await stack.api.get(id)).body.data.status).toBe('CREATED');
    expect(await json('audit', '--by', 'al')).toEqual([]);
  });

  test('that states that the outcome is unknown if no worker is running', async () => {
    await stack.stopWorker();
    const run = await runCli(['order', 'cancel', id], { ...stack.env, UPDATE_TIMEOUT_MS: '500' });
    expectError(run, 1, /The outcome is unknown.*Repeating the same call is safe/);
    await stack.startWorker();
    expect(await json('order', 'cancel', id)).toMatchObject({ status: 'UNSUCCESSFUL' });
  });
});
