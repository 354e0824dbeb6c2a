import { randomUUID } from 'node:crypto';
import { createSandboxPaymentStore } from '../../../../src/checkout/db/sandbox-payments';
import { createSandboxBank } from '../../../../src/checkout/sandbox/sandbox-bank';
import { useDatabase } from '../../../support/database';

const database = useDatabase();

test('a payment that was cancelled before its customer arrived stays cancelled, and has a page that leads back', async () => {
  const bank = createSandboxBank(createSandboxPaymentStore(database.db), 'https://bank.example', 0);
  const id = randomUUID();
  const returnUrl = 'https://shop.example/return/';
  expect(await bank.cancel(id)).toBe('cancelled');
  await bank.start({ id, bank: 'oak', amountPence: 100, payee: 'Shop', reference: 'A-1', returnUrl });
  expect(await bank.find(id)).toMatchObject({
    details: { bank: 'oak', amountPence: 100, payee: 'Shop', reference: 'A-1', returnUrl },
    isCancelled: true,
  });
  await bank.decide(id, 'approved');
  expect(await bank.statusOf(id)).toBe('cancelled');
});
