import { leasePaymentsToReturn } from '../../../src/db/payments';
import { useDatabase } from '../../support/database';
import { insertPaymentToReturn } from './new-orders';

const database = useDatabase('test');

const MINUTE = 60_000;
const RETRY = { firstMs: MINUTE, maxMs: 15 * MINUTE };

const idsOf = (payments: readonly { id: string }[]) => payments.map(({ id }) => id);

test('a payment to return is leased to one worker, and one that fails does not hold up a new one', async () => {
  const { db } = database;
  const failing = await insertPaymentToReturn(db);
  const leases = await Promise.all([1, 2].map(() => leasePaymentsToReturn(db, 1, RETRY)));
  expect(leases.flatMap(idsOf)).toEqual([failing]);
  await db.query('update payment set next_return_at = now()');
  const fresh = await insertPaymentToReturn(db);
  expect(idsOf(await leasePaymentsToReturn(db, 1, RETRY))).toEqual([fresh]);
  expect(idsOf(await leasePaymentsToReturn(db, 1, RETRY))).toEqual([failing]);
  expect(await leasePaymentsToReturn(db, 1, RETRY)).toEqual([]);
});

test('the time until a payment is returned again doubles, up to the maximum', async () => {
  const { db } = database;
  await insertPaymentToReturn(db);
  const minutes: number[] = [];
  for (let attempt = 0; attempt < 6; attempt += 1) {
    await leasePaymentsToReturn(db, 1, RETRY);
    const { rows } = await db.query<{ minutes: number }>(
      'select round(extract(epoch from next_return_at - now()) / 60)::integer as minutes from payment',
    );
    minutes.push(rows[0]!.minutes);
    await db.query('update payment set next_return_at = now()');
  }
  expect(minutes).toEqual([1, 2, 4, 8, 15, 15]);
});
