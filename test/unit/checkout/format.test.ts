import { describeInterest, formatDate, formatDateTime } from '../../../src/checkout/format';

test('dates and times are British and use London time', () => {
  expect(formatDate('2027-01-31')).toBe('31 January 2027');
  expect(formatDateTime('2027-07-01T22:30:00Z')).toBe('1 July 2027 at 23:30');
});

test('the description of interest lists the promotions that have not ended', () => {
  const promotions = [
    { name: 'Spring offer', interestFreeDays: 30, validUntil: '2027-03-31' },
    { name: 'Old offer', interestFreeDays: 60, validUntil: '2027-01-14' },
  ];
  const now = new Date('2027-01-15T12:00:00Z');
  expect(describeInterest({ representativeInterest: 12.9, promotions }, now)).toEqual([
    'Representative interest: 12.9% a year.',
    'Spring offer: no interest for the first 30 days, if you are approved by 31 March 2027.',
  ]);
  expect(describeInterest({ representativeInterest: 0, promotions }, now)).toEqual([
    'No interest. You repay only the order amount.',
  ]);
});
