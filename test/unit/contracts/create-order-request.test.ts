import { VALID, accept, errorsOf, errorsOfData, parseJson, productionSchema } from '../../support/create-order-body';

describe('a create request', () => {
  test('needs only an amount, which is converted to pence, and a reference', () => {
    expect(accept({})).toEqual({ amount: 123_450, reference: 'order 17' });
  });

  test('accepts every optional field unchanged', () => {
    const rest = {
      allowed_payment_terms: ['PAY_LATER'],
      webhook_url: 'https://shop.example/hooks',
      redirect_url: 'https://shop.example/done',
      cancel_url: 'https://shop.example/cart',
      source: 'woocommerce 9.1',
    };
    const meta_data = { cart: [1, 2, { sku: 'a' }] };
    const request = { amount: 123_450, reference: 'order 17', ...rest, meta_data };
    expect(accept({ ...rest, meta_data })).toEqual(request);
  });

  test('treats null as an omitted optional field', () => {
    const nulls = {
      allowed_payment_terms: null,
      webhook_url: null,
      redirect_url: null,
      cancel_url: null,
      source: null,
      meta_data: null,
    };
    expect(accept(nulls)).toEqual(accept({}));
    expect(JSON.stringify(accept(nulls))).toBe(JSON.stringify(accept({})));
  });
});

describe('a request body', () => {
  test.each([
    ['an object whose data is null', { data: null }, ['/data required']],
    ['an object whose data is a list', { data: [VALID] }, ['/data invalid_type']],
    ['an object with a second top-level field', { data: VALID, meta: {} }, ['/meta unknown_field']],
  ])('is refused if it is %s', (_, body, errors) => {
    expect(errorsOf(body)).toEqual(errors);
  });
});

describe('allowed_payment_terms', () => {
  test.each([[['PAY_NOW']], [['PAY_LATER', 'PAY_NOW']]])('%j is accepted and keeps its order', (terms) => {
    expect(accept({ allowed_payment_terms: terms }).allowed_payment_terms).toEqual(terms);
  });

  test.each([
    [[], ['/data/allowed_payment_terms too_small']],
    [['PAY_NOW', 'PAY_NOW'], ['/data/allowed_payment_terms duplicate_value']],
    [['PAY_NEVER'], ['/data/allowed_payment_terms/0 invalid_value']],
    [
      ['X', 'PAY_NOW', 7, null],
      [
        '/data/allowed_payment_terms/0 invalid_value',
        '/data/allowed_payment_terms/2 invalid_value',
        '/data/allowed_payment_terms/3 required',
      ],
    ],
    ['PAY_NOW', ['/data/allowed_payment_terms invalid_type']],
  ])('%j is refused', (terms, errors) => {
    expect(errorsOfData({ allowed_payment_terms: terms })).toEqual(errors);
  });

  test('the error for an unknown payment term lists the known ones', () => {
    expect(errorsOfData({ allowed_payment_terms: ['LATER'] }, productionSchema, 'detail')).toEqual([
      '/data/allowed_payment_terms/0 must be one of PAY_NOW, PAY_LATER',
    ]);
  });
});

describe('an unknown field', () => {
  test.each([
    ['webhookUrl', 'webhook_url'],
    ['metadata', 'meta_data'],
    ['refrence', 'reference'],
  ])('%s is refused, and the error suggests %s', (field, meant) => {
    expect(errorsOfData({ [field]: 'x' }, productionSchema, 'detail')).toEqual([
      `/data/${field} is unknown; did you mean ${meant}?`,
    ]);
  });

  test.each(['currency', 'constructor', '', '17', 'x'.repeat(10_000)])(
    '%j is refused without a suggestion',
    (field) => {
      expect(errorsOfData({ [field]: 'x' }, productionSchema, 'detail')).toEqual([`/data/${field} is unknown`]);
    },
  );

  test('a field named __proto__ is refused', () => {
    expect(errorsOf(parseJson('{"data": {"amount": 1, "reference": "x", "__proto__": {"amount": 2}}}'))).toEqual([
      '/data/__proto__ unknown_field',
    ]);
    expect(errorsOf(parseJson('{"data": {"amount": 1, "reference": "x"}, "__proto__": 1}'))).toEqual([
      '/__proto__ unknown_field',
    ]);
  });

  test('the JSON pointer to the field escapes ~ and /', () => {
    expect(errorsOf({ data: { ...VALID, 'a/b~c': 1, '~1': 1 } })).toEqual([
      '/data/a~1b~0c unknown_field',
      '/data/~01 unknown_field',
    ]);
  });
});

test('all errors of a request are reported together', () => {
  const body = parseJson(`{"data": {"amount": 0.001, "reference": "", "allowed_payment_terms": ["X"],
    "webhook_url": "http://a.example/", "redirect_url": "javascript:alert(1)", "cancel_url": "/cart", "source": 1, "meta_data": [1],
    "webhookurl": "https://a.example/"}, "extra": 1}`);
  expect(errorsOf(body)).toEqual([
    '/data/amount invalid_amount',
    '/data/reference too_small',
    '/data/allowed_payment_terms/0 invalid_value',
    '/data/webhook_url invalid_url',
    '/data/redirect_url invalid_url',
    '/data/cancel_url invalid_url',
    '/data/source invalid_type',
    '/data/meta_data invalid_type',
    '/data/webhookurl unknown_field',
    '/extra unknown_field',
  ]);
});
