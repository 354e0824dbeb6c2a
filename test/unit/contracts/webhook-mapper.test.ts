import { toOrderBody } from '../../../src/contracts/order-mapper';
import { orderStatusChangedSchema } from '../../../src/contracts/webhook-schemas';
import { toOrderStatusChanged } from '../../../src/contracts/webhook-mapper';
import { stateAfter, withState } from '../../../src/domain/order';
import { IN_STATUS, historyAfter, atMinute } from '../domain/histories';

const bodyOf = (history: ReturnType<typeof historyAfter>, index: number, sequence: number) => {
  const change = history.changes[index]!;
  const order = toOrderBody(
    withState(history.order, stateAfter(history, change)),
    { source: null, metaData: null },
    'https://checkout.example',
  );
  return toOrderStatusChanged(change, order, sequence);
};

test('a webhook contains the order after the change, the previous status, the actor and the reason', () => {
  const history = IN_STATUS.SUCCESSFUL;
  const { order } = history;
  expect(bodyOf(history, 2, 2)).toEqual({
    type: 'order.status_changed',
    timestamp: atMinute(2),
    data: {
      order: {
        id: order.id,
        amount: 1234.5,
        reference: 'order 17',
        redirect_url: order.redirectUrl,
        webhook_url: order.webhookUrl,
        created_at: order.createdAt,
        pricing: { representative_interest: 0, promotions: [] },
        pay_link_id: order.payLinkId,
        seller_name: 'Test Shop Ltd',
        status: 'APPROVED',
        allowed_payment_terms: ['PAY_NOW', 'PAY_LATER'],
        order_url: `https://checkout.example/pay/${order.payLinkId}/`,
      },
      previous_status: 'PENDING',
      sequence: 2,
      actor: 'checkout',
      reason: null,
    },
  });
});

test('the webhook for a cancellation contains cancelled_at', () => {
  const body = bodyOf(historyAfter('signup_started', 'cancel'), 2, 2);
  expect(body.data).toMatchObject({ previous_status: 'PENDING', actor: 'seller' });
  expect(body.data.order).toMatchObject({ status: 'UNSUCCESSFUL', cancelled_at: atMinute(2) });
});

test('the webhook for an earlier change does not show a later cancellation', () => {
  expect(bodyOf(historyAfter('signup_started', 'declined', 'cancel'), 2, 2).data.order).not.toHaveProperty(
    'cancelled_at',
  );
});

test('every webhook matches its schema', () => {
  const history = historyAfter('signup_started', 'approved', 'cancel');
  for (const index of [1, 2, 3]) {
    expect(orderStatusChangedSchema.strict().safeParse(bodyOf(history, index, index)).error).toBeUndefined();
  }
});
