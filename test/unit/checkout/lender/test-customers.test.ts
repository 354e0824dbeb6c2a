import { readFileSync } from 'node:fs';
import path from 'node:path';
import {
  BANK_TEST_CUSTOMERS,
  LENDER_TEST_CUSTOMERS,
  describeOutcome,
} from '../../../../src/checkout/sandbox/test-customers';

const PAGE = readFileSync(path.join(__dirname, '../../../../docs/sellers/testing.md'), 'utf8');

test('docs/sellers/testing.md lists every test customer with its outcome', () => {
  for (const { name, outcome } of [...LENDER_TEST_CUSTOMERS, ...BANK_TEST_CUSTOMERS]) {
    expect(PAGE).toContain(`| \`${name}\` | ${outcome} |\n`);
  }
});

test('the pages describe the outcomes without names of settings', () => {
  const outcomes = [...LENDER_TEST_CUSTOMERS, ...BANK_TEST_CUSTOMERS].map(describeOutcome);
  expect(outcomes.filter((outcome) => /`|[A-Z]_|table/.test(outcome))).toEqual([]);
  expect(outcomes).toContain('is reviewed for a moment, then approved');
});
