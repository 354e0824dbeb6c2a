import type { StoredOrder } from '../../../src/db/orders';
import type { OrderDependencies } from '../../../src/orders/dependencies';
import { changeOrder } from '../../../src/orders/change-order';
import { NothingChanged, TooManyChanges } from '../../../src/temporal/calls';
import { IN_STATUS } from '../../support/domain-orders';

const FAILURES: [string, Error, RegExp][] = [
  [
    'nothing changed if the call was not made',
    new NothingChanged('down'),
    /^Orders cannot be changed.*Nothing changed\./,
  ],
  [
    "the seller's other changes run if it has waited for them",
    new TooManyChanges('busy'),
    /^Too many changes of this seller's orders are running\. Nothing changed\./,
  ],
  ['it may still be made after any other error', new Error('deadline'), /^The outcome is unknown/],
];

test.each(FAILURES)('a change that fails states its outcome: %s', async (_, error, detail) => {
  const deps = { workflows: { change: () => Promise.reject(error) } } as unknown as OrderDependencies;
  const stored = { ...IN_STATUS.PENDING, behindVersion: null } as unknown as StoredOrder;
  const cancel = { event: 'cancel', actor: 'seller', channel: 'api', reason: null } as const;
  const problem: unknown = await changeOrder(deps, stored, cancel).catch((thrown: unknown) => thrown);
  expect(problem).toMatchObject({ code: 'service_unavailable', message: expect.stringMatching(detail) });
});
