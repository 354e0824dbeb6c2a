import { randomUUID } from 'node:crypto';
import {
  findApplicant,
  findApplication,
  recordAgreement,
  storeApplication,
  upsertPaymentTerm,
} from '../../../../src/checkout/db/applications';
import { useDatabase } from '../../../support/database';
import { insertNewOrder, saveChanges } from '../../../support/new-orders';
import { applyEvents } from '../../../support/domain-orders';

const APPLICANT = {
  businessName: 'Bloggs Ltd',
  companyNumber: '01234567',
  email: 'jo@bloggs.example',
  monthlyTurnoverPence: 1_250_050,
};
const [ONE, TWO] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];

const database = useDatabase('test');

async function pendingOrder() {
  const order = await insertNewOrder(database.db);
  const { id } = order;
  await upsertPaymentTerm(database.db, id, 'PAY_LATER');
  const pending = applyEvents(order, 'signup_started');
  await saveChanges(database.db, pending);
  return { id, pending };
}
const submit = (id: string, browser: Buffer) =>
  storeApplication(database.db, id, { applicant: APPLICANT, browserDigest: browser });
const browserOf = async (id: string) => (await findApplication(database.db, id))!.browserDigest;

test('of two browsers that apply at the same time, the one whose application is stored owns it', async () => {
  const { id } = await pendingOrder();
  const results = await Promise.all([submit(id, ONE), submit(id, TWO)]);
  expect([...results].sort()).toEqual([false, true]);
  expect(await browserOf(id)).toEqual(results[0] ? ONE : TWO);
});

test('only the browser that the application belongs to can agree', async () => {
  const { id, pending } = await pendingOrder();
  await submit(id, ONE);
  await saveChanges(database.db, applyEvents(pending, 'approved'));
  for (const others of [[], [TWO]]) {
    expect(await recordAgreement(database.db, id, others, new Date())).toBe(false);
  }
  expect((await findApplication(database.db, id))!.agreedAt).toBeNull();
  expect(await recordAgreement(database.db, id, [TWO, ONE], new Date())).toBe(true);
});

test('the applicant of a pay link is the browser of its application, if there is one', async () => {
  const { id } = await pendingOrder();
  const { id: other } = await pendingOrder();
  await submit(id, ONE);
  const { rows } = await database.db.query<{ link: string }>(
    'select pay_link_id as link from orders where id = any($1) order by id = $2 desc',
    [[id, other], id],
  );
  expect(await findApplicant(database.db, rows[0]!.link)).toMatchObject({ orderId: id, browserDigest: ONE });
  expect(await findApplicant(database.db, rows[1]!.link)).toBeUndefined();
  expect(await findApplicant(database.db, randomUUID())).toBeUndefined();
});
