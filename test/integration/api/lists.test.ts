import { randomUUID } from 'node:crypto';
import { findOrder, commitChange } from '../../../src/db/orders';
import { decide } from '../../../src/domain/order';
import { BASE } from '../../support/api';
import { holdTransaction } from '../../support/database';
import { copyOrder } from '../../support/many-orders';
import { openOrder } from '../../support/orders';
import { expectProblem } from '../../support/problems';
import { createSeller, type TestSeller, useStack } from '../../support/stack';
import { onStatement } from '../../support/statements';
import { until } from '../../support/until';

const stack = useStack();
let seller: TestSeller;
beforeEach(async () => {
  seller = await createSeller(stack.db);
});

const list = (query: Record<string, string> | string = {}, { id, key } = seller) =>
  stack.api.call('GET', `${BASE}/seller/${id}/order/?${new URLSearchParams(query).toString()}`, { key });
const idsOf = async (query?: Record<string, string>): Promise<string[]> =>
  (await list(query)).body.data.map(({ id }: { id: string }) => id);

async function create(reference: string = randomUUID()): Promise<string> {
  const body = { data: { amount: 12.5, reference, source: 'plugin', meta_data: { cart: [1, 2] } } };
  const response = await stack.api.call('POST', `${BASE}/seller/${seller.id}/order/`, { key: seller.key, body });
  return response.body.data.id;
}

async function createMany(count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index++) ids.unshift(await create());
  return ids;
}

test('the list shows orders as GET does, newest first', async () => {
  const [newest, oldest] = await createMany(2);
  const { status, body } = await list();
  expect([status, body.next_cursor]).toEqual([200, null]);
  expect(body.data).toHaveLength(2);
  for (const [index, id] of [newest, oldest].entries()) {
    const order = body.data[index];
    expect(order).toEqual((await stack.api.get(id!, { key: seller.key })).body.data);
    const { rows } = await stack.db.query('select created_at from orders where id = $1', [id]);
    expect(order.created_at).toBe(rows[0].created_at.toISOString());
  }
  expect((await list({}, await createSeller(stack.db))).body).toEqual({ data: [], next_cursor: null });
});

test('a reader who follows the cursors sees each order once, even if orders are created and changed meanwhile', async () => {
  const ids = await createMany(5);
  const seen: string[] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const { body } = await list({ limit: '2', ...(cursor !== '' && { cursor }) });
    seen.push(...body.data.map(({ id }: { id: string }) => id));
    cursor = body.next_cursor;
    await create();
    await stack.api.cancel(ids[4]!, { key: seller.key });
  }
  expect(seen).toEqual(ids);
});

test('orders with the same created_at are all listed', async () => {
  const ids = await createMany(5);
  await stack.db.query(`update orders set created_at = '2026-01-01' where seller_id = $1`, [seller.id]);
  const first = (await list({ limit: '3' })).body;
  const second = (await list({ limit: '3', cursor: first.next_cursor })).body;
  expect([...first.data, ...second.data].map(({ id }) => id)).toEqual([...ids].sort().reverse());
  expect(second.next_cursor).toBeNull();
});

/** Polls as a shop does: from the newest time that it has seen. */
function poller(by: 'created' | 'updated' = 'created') {
  const seen = new Set<string>();
  const statuses = new Map<string, string>();
  let newest = '2026-01-01T00:00:00Z';
  return {
    seen,
    /** The status of each order that was seen last. */
    statuses,
    poll: async (): Promise<void> => {
      const { data } = (await list({ [`${by}_from`]: newest, limit: '100' })).body;
      for (const { id, status } of data.toReversed()) {
        seen.add(id);
        statuses.set(id, status);
      }
      newest = data
        .map((order: Record<string, string>) => order[`${by}_at`])
        .reduce((a: string, b: string) => (a > b ? a : b), newest);
    },
  };
}

test('a poll by created_from misses no order that is committed after newer ones', async () => {
  const first = await create();
  const late = randomUUID();
  const saving = await holdTransaction(
    stack.db,
    `with late as (
       insert into orders (id, seller_id, seller_name, amount_pence, reference, allowed_payment_terms, redirect_url,
         pay_link_id, pricing, version, status)
       select $2, seller_id, seller_name, amount_pence, 'late', allowed_payment_terms, redirect_url, gen_random_uuid(),
         pricing, version, status from orders where id = $1
       returning id, version, status, created_at)
     insert into order_timeline (order_id, version, event, to_status, actor, channel, at)
     select id, version, 'created', status, 'seller', 'api', created_at from late`,
    [first, late],
  );
  const newer = [await create(), await create()];
  const { poll, seen } = poller();
  await until(async () => {
    await poll();
    return seen.size > 0;
  }, 'the order from before is listed');
  await saving.commit();
  await until(async () => {
    await poll();
    return newer.every((one) => seen.has(one));
  }, 'the newer orders are listed');
  expect(seen).toEqual(new Set([first, late, ...newer]));
});

test('updated_from lists the orders that changed, the last change first', async () => {
  const [third, second, first] = await createMany(3);
  const { created_at: start } = (await stack.api.get(third!, { key: seller.key })).body.data;
  await stack.api.cancel(first!, { key: seller.key });
  expect(await idsOf({ updated_from: '2026-01-01' })).toEqual([first, third, second]);
  expect(await idsOf({ updated_from: '2026-01-01', limit: '1' })).toEqual([first]);
  expect(await idsOf({ updated_from: '2026-01-01', cursor: first! })).toEqual([third, second]);
  expect(await idsOf({ updated_from: start })).toEqual([first, third]);
  expect(await idsOf({ updated_from: start, status: 'UNSUCCESSFUL' })).toEqual([first]);
  expect(await idsOf({ updated_from: '2100-01-01' })).toEqual([]);
});

test('a poll by updated_from misses no change that is committed after newer ones', async () => {
  const [newer, late] = await createMany(2);
  const { poll, seen, statuses } = poller('updated');
  await poll();
  expect(seen.size).toBe(2);
  // As the save of a change whose commit takes long.
  const saving = await holdTransaction(
    stack.db,
    `with saved as (
       update orders set version = 2, status = 'UNSUCCESSFUL', saved_at = listed_time() where id = $1
       returning id, saved_at)
     insert into order_timeline (order_id, version, event, from_status, to_status, actor, channel, at)
     select id, 2, 'cancel', 'CREATED', 'UNSUCCESSFUL', 'seller', 'api', saved_at from saved`,
    [late],
  );
  await stack.api.cancel(newer!, { key: seller.key });
  await poll();
  await saving.commit();
  await until(async () => {
    await poll();
    return statuses.get(newer!) === 'UNSUCCESSFUL';
  }, 'the newer change is listed');
  expect(statuses.get(late!)).toBe('UNSUCCESSFUL');
});

test('a poll by updated_from misses no change that is saved long after it was decided', async () => {
  const [decidedEarly, other] = await createMany(2);
  const { poll, statuses } = poller('updated');
  await stack.api.cancel(other!, { key: seller.key });
  await until(async () => {
    await poll();
    return statuses.get(other!) === 'UNSUCCESSFUL';
  }, 'the other change is listed');
  const order = (await findOrder(stack.db, decidedEarly!))!;
  const change = decide(order, { event: 'cancel', actor: 'seller', channel: 'api', reason: null }, order.createdAt);
  if (typeof change === 'string') throw new Error(change);
  await commitChange(stack.db, order.id, change);
  await until(async () => {
    await poll();
    return statuses.get(decidedEarly!) === 'UNSUCCESSFUL';
  }, 'the change that was saved late is listed');
});

test('status, reference, created_from and created_before filter the list', async () => {
  const reference = 'INV 1/ü';
  const given = await create(reference);
  await stack.api.cancel(given, { key: seller.key });
  const again = await create(reference);
  const other = await create();
  expect(await idsOf({ reference })).toEqual([again, given]);
  expect(await idsOf({ reference: reference.toLowerCase() })).toEqual([]);
  expect(await idsOf({ status: 'UNSUCCESSFUL' })).toEqual([given]);
  expect(await idsOf({ status: 'CREATED', reference })).toEqual([again]);
  await openOrder(stack, {}, ['signup_started']);
  expect(await idsOf({ status: 'PENDING' })).toEqual([]);

  await stack.db.query('update orders set created_at = $2 where id = $1', [given, '2026-01-31T23:30:00Z']);
  await stack.db.query('update orders set created_at = $2 where id = $1', [again, '2026-02-01T00:00:00Z']);
  expect(await idsOf({ created_from: '2026-02-01' })).toEqual([other, again]);
  expect(await idsOf({ created_before: '2026-02-01' })).toEqual([given]);
  expect(await idsOf({ created_from: '2026-02-01T00:30:00+01:00', created_before: '2026-02-01' })).toEqual([given]);
  expect(await idsOf({ created_from: '2026-02-01', created_before: '2026-02-01T00:00:00.001Z' })).toEqual([again]);
});

test('completed_at is set by the completion, and completed_from and completed_before list by it', async () => {
  const [never, early, late] = await createMany(3);
  const completeAt: string[] = [];
  for (const id of [early, late]) {
    for (const event of ['signup_started', 'approved', 'completed']) await stack.api.progress(id!, event);
    const { completed_at, updated_at } = (await stack.api.get(id!, { key: seller.key })).body.data;
    expect(completed_at).toBe(updated_at);
    completeAt.push(completed_at);
  }
  expect((await stack.api.get(never!, { key: seller.key })).body.data).not.toHaveProperty('completed_at');
  expect(await idsOf({ completed_from: '2026-01-01' })).toEqual([late, early]);
  expect(await idsOf({ completed_from: '2026-01-01', limit: '1', cursor: late! })).toEqual([early]);
  expect(await idsOf({ completed_from: completeAt[1]! })).toEqual([late]);
  expect(await idsOf({ completed_before: completeAt[1]! })).toEqual([early]);
  expect(await idsOf({ completed_from: completeAt[0]!, completed_before: completeAt[0]! })).toEqual([]);
});

test('updated_before lists the orders that had changed before, the last change first', async () => {
  const [newest, oldest] = await createMany(2);
  await stack.api.cancel(oldest!, { key: seller.key });
  const { cancelled_at } = (await stack.api.get(oldest!, { key: seller.key })).body.data;
  expect(await idsOf({ updated_before: '2100-01-01' })).toEqual([oldest, newest]);
  expect(await idsOf({ updated_before: cancelled_at })).toEqual([newest]);
  expect(await idsOf({ updated_from: '2026-01-01', updated_before: cancelled_at })).toEqual([newest]);
  expect(await idsOf({ updated_from: '2026-01-01', updated_before: '2026-01-01' })).toEqual([]);
});

test('amount lists the orders of exactly this amount', async () => {
  const [id] = await createMany(1);
  expect(await idsOf({ amount: '12.5' })).toEqual([id]);
  expect(await idsOf({ amount: '12.50', status: 'CREATED' })).toEqual([id]);
  expect(await idsOf({ amount: '12.51' })).toEqual([]);
});

describe('with Accept: text/csv', () => {
  const csv = (query: Record<string, string> = {}) =>
    stack.api.call('GET', `${BASE}/seller/${seller.id}/order/?${new URLSearchParams(query).toString()}`, {
      key: seller.key,
      headers: { Accept: 'text/csv' },
    });

  test('the list is a CSV of all orders that match, whatever `limit` is', async () => {
    const [newest, , oldest] = await createMany(3);
    await copyOrder(stack.db, oldest!, 1000);
    const { status, text, headers } = await csv({ limit: '1' });
    expect([status, headers.get('Content-Type')]).toEqual([200, 'text/csv; charset=utf-8; header=present']);
    expect(headers.get('Content-Disposition')).toBe('attachment; filename="orders.csv"');
    const [head, first, ...lines] = text.split('\r\n');
    expect(head).toMatch(/^id,reference,status,amount,/);
    expect(first).toMatch(new RegExp(`^${newest},[^,]+,CREATED,12.50,,20[^,]+Z,,,,,,$`));
    expect(lines).toHaveLength(1003);
    expect(lines.at(-1)).toBe('');
    expect(new Set(lines.map((line) => line.slice(0, 36))).size).toBe(1003);
    expect((await csv({ amount: '2.00' })).text.split('\r\n')).toEqual([
      head,
      expect.stringMatching(/,copy 100,SUCCESSFUL,2.00,PAY_NOW,20[^,]+Z,20[^,]+Z,,,,,$/),
      '',
    ]);
    expect((await csv({ status: 'APPROVED' })).text).toBe(`${head}\r\n`);
    expect((await csv({ cursor: oldest! })).text.split('\r\n')).toHaveLength(1002);
  });

  test('an invalid parameter, an unknown cursor and a wrong key get the same problems as with JSON', async () => {
    expectProblem(await csv({ page: '2' }), 422, 'invalid_request');
    expectProblem(await csv({ cursor: randomUUID() }), 422, 'invalid_request');
    const other = await createSeller(stack.db);
    const path = `${BASE}/seller/${seller.id}/order/`;
    expectProblem(
      await stack.api.call('GET', path, { key: other.key, headers: { Accept: 'text/csv' } }),
      404,
      'not_found',
    );
  });

  test.each(['*/*', 'application/json, text/csv', 'text/html'])('Accept: %s returns JSON', async (accept) => {
    const path = `${BASE}/seller/${seller.id}/order/`;
    expect((await stack.api.call('GET', path, { key: seller.key, headers: { Accept: accept } })).body.data).toEqual([]);
  });

  test('an error of Postgres before the first line is a problem, and a later one breaks the connection off', async () => {
    const [id] = await createMany(1);
    await copyOrder(stack.db, id!, 1000);
    let pages = 0;
    const failAt = (page: number) =>
      onStatement(({ text }) => {
        if (text.includes('"listedAt"') && ++pages === page) throw new Error('connection terminated unexpectedly');
      });
    failAt(1);
    expectProblem(await csv(), 503, 'service_unavailable');
    jest.restoreAllMocks();
    pages = 0;
    failAt(2);
    const headers = { Accept: 'text/csv', Authorization: `Bearer ${seller.key}` };
    const broken = await fetch(`${stack.api.url}${BASE}/seller/${seller.id}/order/`, { headers });
    expect(broken.status).toBe(200);
    let received = '';
    const read = async (): Promise<void> => {
      for await (const piece of broken.body!.pipeThrough(new TextDecoderStream())) received += piece;
    };
    await expect(read()).rejects.toThrow('terminated');
    expect(received.split('\r\n')).toHaveLength(502);
    jest.restoreAllMocks();
  });
});

test.each(['0001-01-01', '9999-12-31T23:59:59.999999Z', '2026-02-01T00:00:00%2B23:59', '2026-02-01T00:00:00-23:59'])(
  'created_from accepts %s',
  async (time) => {
    expect((await list(`created_from=${time}`)).status).toBe(200);
  },
);

test('an unknown cursor is refused, because an empty page would look like the end', async () => {
  await create();
  const refusal = async (cursor: string) => {
    const { detail, errors } = expectProblem(await list({ cursor }), 422, 'invalid_request');
    return { detail, errors };
  };
  const unknown = await refusal(randomUUID());
  expect(unknown.errors).toEqual([
    { code: 'invalid_format', detail: 'must be the next_cursor of an earlier page', parameter: 'cursor' },
  ]);
  expect(await refusal('2')).toEqual(unknown);
  expect(await refusal(await openOrder(stack))).toEqual(unknown);
});

test('a page after a cursor can be empty if no further order matches the filter', async () => {
  const [second, first] = await createMany(2);
  await stack.api.cancel(first!, { key: seller.key });
  expect((await list({ cursor: second!, status: 'CREATED' })).body).toEqual({ data: [], next_cursor: null });
});

test.each([
  ['status=OPEN', 'status', 'invalid_value'],
  ['reference=', 'reference', 'too_small'],
  ['reference=%00', 'reference', 'invalid_characters'],
  ['created_from=yesterday', 'created_from', 'invalid_format'],
  ['created_before=2026-02-30', 'created_before', 'invalid_format'],
  ['created_from=2026-02-01T00:00:00+01:00', 'created_from', 'invalid_format'],
  ['created_from=0000-12-31', 'created_from', 'invalid_value'],
  ['created_before=0001-01-01T00:00:00%2B00:01', 'created_before', 'invalid_value'],
  ['created_before=9999-12-31T23:59:00-00:01', 'created_before', 'invalid_value'],
  ['limit=0', 'limit', 'invalid_format'],
  ['limit=101', 'limit', 'invalid_format'],
  ['cursor=2', 'cursor', 'invalid_format'],
  ['amount=1.001', 'amount', 'invalid_format'],
  ['amount=0', 'amount', 'too_small'],
  ['completed_from=October', 'completed_from', 'invalid_format'],
  ['completed_before=2026-02-30', 'completed_before', 'invalid_format'],
  ['updated_before=soon', 'updated_before', 'invalid_format'],
  ['page=2', 'page', 'unknown_field'],
  ['limit=1&limit=2', 'limit', 'invalid_type'],
  ['status=CREATED&status=PENDING', 'status', 'invalid_type'],
  ['created_from=2026-01-01&created_from=2026-01-02', 'created_from', 'invalid_type'],
])('?%s is refused, and the error names the parameter', async (query, parameter, code) => {
  const { detail, errors } = expectProblem(await list(query), 422, 'invalid_request');
  expect(errors).toEqual([{ code, detail: expect.any(String), parameter }]);
  if (code === 'invalid_type') expect(detail).toBe(`?${parameter} must be given once.`);
});

test('a page has as many orders as `limit`, however large their meta_data is', async () => {
  for (let count = 0; count < 20; count++) {
    const body = { data: { amount: 12.5, reference: randomUUID(), meta_data: { text: 'x'.repeat(16_000) } } };
    await stack.api.call('POST', `${BASE}/seller/${seller.id}/order/`, { key: seller.key, body });
  }
  expect((await list({ limit: '20' })).body.data).toHaveLength(20);
});
