import { CSV_HEAD, toCsvLine } from '../../../src/contracts/order-csv';
import { IN_STATUS, ORDER, atMinute, orderAfter } from '../../support/domain-orders';

const cells = (line: string) => line.slice(0, -2).split(',');

test('a line has the columns that the header names, times in ISO 8601 and the amount with two decimals', () => {
  expect(CSV_HEAD).toBe(
    'id,reference,status,amount,payment_term,created_at,completed_at,cancelled_at,unsuccessful_reason,' +
      'settlement_reference,settlement_fee,settlement_payout_date\r\n',
  );
  const completed = { ...IN_STATUS.SUCCESSFUL, paymentTerm: 'PAY_LATER' as const };
  expect(toCsvLine(completed)).toBe(
    `${ORDER.id},order 17,SUCCESSFUL,1234.50,PAY_LATER,${atMinute(0)},${atMinute(3)},,,,,\r\n`,
  );
  expect(cells(toCsvLine(orderAfter('cancel'))).slice(6, 9)).toEqual(['', atMinute(1), 'cancelled']);
  expect(toCsvLine({ ...ORDER, amountPence: 99_999_999_999_999 })).toContain(',999999999999.99,');
});

test('the settlement has its columns once the order is SUCCESSFUL', () => {
  const settlement = { reference: '=PO,17', feePence: 5, payoutDate: '2026-03-03' };
  expect(toCsvLine({ ...IN_STATUS.SUCCESSFUL, settlement })).toMatch(/,"'=PO,17",0\.05,2026-03-03\r\n$/);
  expect(toCsvLine({ ...IN_STATUS.APPROVED, settlement })).toMatch(/,,,\r\n$/);
});

test.each([
  ['INV 1', 'INV 1'],
  ['a,b', '"a,b"'],
  ['say "hi"', '"say ""hi"""'],
  ['=1+1', "'=1+1"],
  ['+44 20', "'+44 20"],
  ['-5', "'-5"],
  ['@SUM(A1)', "'@SUM(A1)"],
  ['＝1+1', "'＝1+1"],
  ['=HYPERLINK("http://x","y")', `"'=HYPERLINK(""http://x"",""y"")"`],
  ['a=b', 'a=b'],
  ["'quoted", "'quoted"],
  ['Größe 店', 'Größe 店'],
])('the reference %s is written as %s', (reference, cell) => {
  expect(toCsvLine({ ...ORDER, reference })).toBe(`${ORDER.id},${cell},CREATED,1234.50,,${ORDER.createdAt},,,,,,\r\n`);
});
