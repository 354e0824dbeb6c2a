import { transpileModule } from 'typescript';
import { operations } from '../../support/contract';

interface Sample {
  label: string;
  source: string;
}
const samplesOf = (operation: unknown): Sample[] =>
  (operation as { 'x-codeSamples'?: Sample[] })['x-codeSamples'] ?? [];
const keyed = operations.filter(({ operation }) => operation.security.length > 0);

test.each(keyed.map((one) => [one.operation.operationId, one.operation] as const))(
  '%s has samples in curl, TypeScript, PHP and Python without gaps',
  (_id, operation) => {
    const samples = samplesOf(operation);
    expect(samples.map(({ label }) => label)).toEqual(['curl', 'TypeScript', 'PHP', 'Python']);
    for (const { source } of samples) {
      expect(source).not.toMatch(/undefined|\{unique\}|\{(supplier_uuid|order_id|webhook_id|pay_link_id)\}/);
    }
    const { diagnostics } = transpileModule(samples[1]!.source, { reportDiagnostics: true });
    expect(diagnostics).toEqual([]);
  },
);

test('the samples of createOrder, and no others, send an Idempotency-Key and state what it is for', () => {
  const isKeyed = (source: string) =>
    /idempotency-?key/i.test(source) &&
    source.includes('Store it with the cart, and repeat the call with the same key.');
  for (const { operation } of keyed) {
    const samples = samplesOf(operation).map(({ source }) => isKeyed(source));
    expect(samples).toEqual(Array(4).fill(operation.operationId === 'createOrder'));
  }
});
