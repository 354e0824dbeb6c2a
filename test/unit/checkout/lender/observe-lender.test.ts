import { type Lender, type LenderApplication, LenderUnavailable } from '../../../../src/checkout/lender/lender';
import { registry } from '../../../../src/telemetry/metrics';
import { observeLender } from '../../../../src/checkout/lender/guard-lender';
import { parseMetrics } from '../../../support/prometheus';

const lenderThat = (decide: Lender['decide']): Lender => ({
  reviewTime: 'about 2 hours',
  quote: () => ({ instalments: [] }),
  decide,
});
const failing = lenderThat(() => Promise.reject(new LenderUnavailable('an outage')));
const working = lenderThat(() => Promise.resolve({ kind: 'referred', askAgainMs: 1 }));

const ask = (lender: Lender) =>
  lender.decide({} as LenderApplication, new AbortController().signal).catch(() => undefined);
const read = async (name: string, labels: Record<string, string>) =>
  parseMetrics(await registry.metrics()).value(`order_service_${name}`, labels);

test('answers of the sandbox lender are counted apart, and do not close the breaker of the live lender', async () => {
  const live = observeLender(failing, 'live');
  const sandbox = observeLender(working, 'sandbox');
  await ask(live);
  await ask(sandbox);
  expect(await read('open_breakers', { breaker: 'lender' })).toBe(1);
  expect(await read('lender_requests_total', { mode: 'live', outcome: 'unavailable' })).toBe(1);
  expect(await read('lender_requests_total', { mode: 'live', outcome: 'referred' })).toBe(0);
  expect(await read('lender_requests_total', { mode: 'sandbox', outcome: 'referred' })).toBe(1);
});

test('an outage that a test customer of the sandbox chooses does not open the breaker', async () => {
  observeLender(working, 'live');
  await ask(observeLender(failing, 'sandbox'));
  expect(await read('open_breakers', { breaker: 'lender' })).toBe(0);
});

test('a breaker that no call closes is shown as closed five minutes after its last failure', async () => {
  const now = jest.spyOn(Date, 'now');
  const isOpen = () => read('open_breakers', { breaker: 'lender' });
  const live = observeLender(failing, 'live');
  now.mockReturnValue(0);
  await ask(live);
  now.mockReturnValue(4 * 60_000);
  await ask(live);
  now.mockReturnValue(8 * 60_000);
  expect(await isOpen()).toBe(1);
  now.mockReturnValue(9 * 60_000);
  expect(await isOpen()).toBe(0);
  now.mockRestore();
});
