import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { customerProgressSignal } from '../../workflows/messages';
import { BASE } from '../support/api';
import { openOrder } from '../support/orders';
import type { Receiver } from '../support/receiver';
import type { Stack } from '../support/stack';
import { until } from '../support/until';

/** A 32-bit float would change it to 200000.02. */
const AMOUNT = 200000.01;

/** One line that a driver prints: the name of the call and what its client returned. */
export type Call = Record<string, unknown> & { call: string; id?: string };

/** An order with a change, a refused request and a delivered webhook in its timeline, for the drivers to read. */
export interface PreparedOrder {
  id: string;
  entries: string[];
  webhookBody: string;
}

export async function prepareOrder(stack: Stack, receiver: Receiver): Promise<PreparedOrder> {
  const id = await openOrder(stack, { amount: AMOUNT, webhook_url: receiver.url }, ['signup_started']);
  // Refused signals are recorded, refused calls are not.
  await stack.client.workflow.getHandle(`order-${id}`).signal(customerProgressSignal, { event: 'completed' });
  const timeline = async (): Promise<any[]> => (await stack.api.call('GET', `${BASE}/order/${id}/timeline/`)).body.data;
  await until(async () => (await timeline()).length === 4, 'the timeline has the delivery and the refusal');
  const entries = (await timeline()).map((entry): string => {
    const details: Record<string, string> = { change: entry.to, refusal: entry.event, webhook_attempt: entry.status };
    return `${entry.type} ${details[entry.type]}`;
  });
  return { id, entries, webhookBody: receiver.deliveries[0]!.text };
}

/** Checks the calls of a driver. Returns what is wrong, per call. */
export async function checkCalls(stack: Stack, prepared: PreparedOrder, calls: readonly Call[]): Promise<string[]> {
  const find = (name: string): Call | undefined => calls.find(({ call }) => call === name);
  const id = find('create')?.id ?? randomUUID();
  const stored = (await stack.api.get(id)).body?.data;
  const expected: Call[] = [
    {
      call: 'create',
      status: 201,
      id: stored?.id,
      amount: AMOUNT,
      order_status: 'CREATED',
      allowed_payment_terms: ['PAY_LATER'],
    },
    { call: 'duplicate', status: 409, code: 'duplicate_reference', order_id: id, order_amount: AMOUNT },
    {
      call: 'invalid',
      status: 422,
      code: 'invalid_request',
      errors: ['/data/amount invalid_amount', '/data/webhook_url invalid_url', '/data/redirect_url invalid_url'],
    },
    { call: 'not_found', status: 404, code: 'not_found' },
    { call: 'retrieve', status: 200, amount: AMOUNT, meta_data: { basket: 'b-17' } },
    { call: 'list', status: 200, amounts: [AMOUNT], next_cursor: null },
    {
      call: 'cancel',
      status: 200,
      amount: AMOUNT,
      order_status: 'UNSUCCESSFUL',
      cancelled_at: Date.parse(stored?.cancelled_at),
    },
    { call: 'timeline', status: 200, entries: prepared.entries },
    {
      call: 'webhook',
      type: 'order.status_changed',
      amount: AMOUNT,
      order_status: 'PENDING',
      previous_status: 'CREATED',
      sequence: 1,
    },
  ];
  const wrong = stored?.amount === AMOUNT ? [] : [`the service stored the amount ${stored?.amount}`];
  for (const one of expected) {
    const actual = find(one.call) ?? 'the call was not made';
    if (isDeepStrictEqual(actual, one)) continue;
    wrong.push(`${one.call}: expected ${JSON.stringify(one)}, got ${JSON.stringify(actual)}`);
  }
  return wrong;
}
