import { readFileSync } from 'node:fs';
import path from 'node:path';
import { orderSchema } from '../../../src/contracts/order-schemas';
import { createOrderRequestSchema } from '../../../src/contracts/request-schemas';
import { PACKAGE_ROOT } from '../../../src/package';

const page = readFileSync(path.join(PACKAGE_ROOT, 'docs/sellers/orders.md'), 'utf8');
const [, create = '', created = ''] = page.split(/^## (?:Create an order|Statuses)$|^The response to a create /m);

/** The names in the first column of the tables. */
const rowsOf = (section: string): string[] =>
  [...section.matchAll(/^\| (`.*?) \|/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name!),
  );

test('docs/sellers/orders.md documents each field of a new order, and no other', () => {
  const rules = { maxAmountPence: 100, httpsOnly: true, checkWebhookUrl: () => undefined };
  const fields = Object.keys(createOrderRequestSchema(rules).shape.data.shape);
  expect(rowsOf(create).sort()).toEqual(fields.sort());
});

test('docs/sellers/orders.md documents each field of an order', () => {
  const sentence = /^has (.*?)\. A retrieved/s.exec(created)?.[1] ?? '';
  const documented = [
    ...rowsOf(create),
    ...rowsOf(created),
    ...[...sentence.matchAll(/`(\w+)`/g)].map(([, name]) => name!),
  ];
  expect(Object.keys(orderSchema.shape).filter((field) => !documented.includes(field))).toEqual([]);
});
