import { fieldErrors } from '../../../src/contracts/field-errors';
import { progressRequestSchema } from '../../../src/contracts/request-schemas';

function errorsOf(body: unknown): string[] {
  const { error } = progressRequestSchema.safeParse(body, { reportInput: true });
  return error ? fieldErrors(error, progressRequestSchema).map((one) => `${one.pointer ?? '-'} ${one.code}`) : [];
}

test.each([
  ['cancel', 'invalid_value'],
  ['expired', 'invalid_value'],
  ['APPROVED', 'invalid_value'],
  ['', 'invalid_value'],
  [1, 'invalid_value'],
  [null, 'required'],
  [undefined, 'required'],
])('the event %j is refused with %s', (event, code) => {
  expect(errorsOf({ data: { event } })).toEqual([`/data/event ${code}`]);
});

test('a reason is optional text of up to 500 characters', () => {
  expect(errorsOf({ data: { event: 'failed', reason: 'x'.repeat(500) } })).toEqual([]);
  expect(errorsOf({ data: { event: 'failed', reason: null } })).toEqual([]);
  expect(errorsOf({ data: { event: 'failed', reason: 'x'.repeat(501) } })).toEqual(['/data/reason too_big']);
  expect(errorsOf({ data: { event: 'failed', reason: '' } })).toEqual(['/data/reason too_small']);
  expect(errorsOf({ data: { event: 'failed', reason: 'a\u0000' } })).toEqual(['/data/reason invalid_characters']);
  expect(errorsOf({ data: { event: 'failed', reason: 7 } })).toEqual(['/data/reason invalid_type']);
});

test('unknown fields are reported together with other errors', () => {
  expect(errorsOf({ data: { evnt: 'approved', status: 'APPROVED' }, reason: 'x' })).toEqual([
    '/data/event required',
    '/data/evnt unknown_field',
    '/data/status unknown_field',
    '/reason unknown_field',
  ]);
});
