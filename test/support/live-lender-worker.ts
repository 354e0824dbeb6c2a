import Module from 'node:module';
import type { Lender } from '../../src/checkout/lender/lender';
import type * as Providers from '../../src/providers';

/** For `node --require`: the lender of live accounts approves every application. */
const lender: Lender = {
  reviewTime: 'about 2 hours',
  quote: ({ amountPence }) => ({ instalments: [{ dueInMonths: 1, amountPence }] }),
  decide: ({ amountPence }) =>
    Promise.resolve({ kind: 'approved', offer: { instalments: [{ dueInMonths: 1, amountPence }] } }),
};
type Load = (request: string, ...rest: unknown[]) => unknown;
const modules = Module as unknown as { _load: Load };
const load = modules._load;
modules._load = (request, ...rest) => {
  const loaded = load(request, ...rest);
  if (!request.endsWith('/providers')) return loaded;
  const { lendersOf, ...others } = loaded as typeof Providers;
  return { ...others, lendersOf: (...args: Parameters<typeof lendersOf>) => ({ ...lendersOf(...args), live: lender }) };
};
