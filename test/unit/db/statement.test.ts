import { isoOf, jsonOf, namesOf, parametersOf, selectionOf, statement } from '../../../src/db/statement';

const COLUMNS = { id: 'id', sellerId: 'seller_id' };

test('named parameters become numbered ones, each once, and their values follow in that order', () => {
  const text = 'select :b::text, :a where :b is not null and x = y::uuid';
  expect(statement(text, { a: 1, b: undefined, unused: 3 })).toEqual({
    text: 'select $1::text, $2 where $1 is not null and x = y::uuid',
    values: [undefined, 1],
  });
});

test('a parameter without a value is refused', () => {
  expect(() => statement('select :a', { b: 1 })).toThrow('the parameter :a has no value');
});

test('the format of a time has no parameter', () => {
  expect(statement(isoOf('at'), {})).toEqual({ text: isoOf('at'), values: [] });
});

test('lists of columns are made from the fields', () => {
  expect(`insert into t (${namesOf(COLUMNS)}) values (${parametersOf(COLUMNS)})`).toBe(
    'insert into t (id, seller_id) values (:id, :sellerId)',
  );
  expect(selectionOf(COLUMNS)).toBe('id as "id", seller_id as "sellerId"');
  expect(jsonOf(COLUMNS)).toBe("json_build_object('id', id, 'sellerId', seller_id)");
});
