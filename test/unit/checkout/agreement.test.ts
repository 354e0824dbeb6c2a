import type { Checkout } from '../../../src/checkout/domain/checkout';
import { agreeToOffer } from '../../../src/checkout/use-cases/application';
import type { CheckoutDependencies } from '../../../src/checkout/use-cases/read-checkout';
import { unavailable } from '../../../src/contracts/problem';
import { createLogger } from '../../../src/logger';

test('an agreement that cannot be reported now is in the log', async () => {
  const lines: unknown[] = [];
  const deps = {
    db: { query: () => Promise.resolve({ rowCount: 1 }) },
    core: { report: () => Promise.reject(unavailable('Orders cannot be changed.')) },
    log: createLogger('warn', 'test', { write: (line) => void lines.push(JSON.parse(line)) }),
  } as unknown as CheckoutDependencies;
  const offer = { instalments: [{ dueInMonths: 1, amountPence: 100 }] };
  const checkout = {
    order: { id: '1', status: 'APPROVED', expiresAt: null },
    application: { decision: { kind: 'approved', offer } },
  } as unknown as Checkout;
  await agreeToOffer(deps, checkout, [], new Date());
  expect(lines).toMatchObject([{ level: 'warn', order_id: '1', err: { message: 'Orders cannot be changed.' } }]);
});
