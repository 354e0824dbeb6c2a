import { readFileSync } from 'node:fs';
import path from 'node:path';
import { BANK_TEST_CUSTOMERS, LENDER_TEST_CUSTOMERS, describeOutcome } from '../../../../src/checkout/test-customers';

const PAGE = readFileSync(path.join(__dirname, '../../../../docs/hosted-checkout.md'), 'utf8');

test('docs/hosted-checkout.md lists every test customer with its outcome', () => {
  for (const { name, outcome } of [...LENDER_TEST_CUSTOMERS, ...BANK_TEST_CUSTOMERS]) {
    expect(PAGE).toContain(`| \`${name}\` | ${outcome} |\n`);
  }
});

test('the pages describe the outcomes without names of settings', () => {
  const outcomes = [...LENDER_TEST_CUSTOMERS, ...BANK_TEST_CUSTOMERS].map(describeOutcome);
  expect(outcomes.filter((outcome) => /`|[A-Z]_|table/.test(outcome))).toEqual([]);
  expect(outcomes).toContain('is reviewed for a moment, then approved');
});
