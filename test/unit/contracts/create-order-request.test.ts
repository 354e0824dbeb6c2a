import { fieldErrors } from '../../../src/contracts/field-errors';
import { type CreateOrderRequest, createOrderRequestSchema } from '../../../src/contracts/request-schemas';
import { checkWebhookUrl } from '../../../src/webhooks/webhook-url';

const PRODUCTION = {
  maxAmountPence: 1_000_000_000,
  httpsOnly: true,
  checkWebhookUrl: (url: string) => checkWebhookUrl(url, { allowPrivate: false, allowHttp: false }),
};
const schema = createOrderRequestSchema(PRODUCTION);
const httpToo = createOrderRequestSchema({ ...PRODUCTION, httpsOnly: false });

const VALID = { amount: 1234.5, reference: 'order 17' };

/** Parses a valid request with these fields. */
function accept(data: Record<string, unknown>, by = schema): CreateOrderRequest {
  return by.parse({ data: { ...VALID, ...data } }).data;
}

/** Returns `pointer code`, or `pointer detail`, for each error of a body. */
function refuse(body: unknown, by = schema, show: 'code' | 'detail' = 'code'): string[] {
  const { error } = by.safeParse(body, { reportInput: true });
  if (!error) return [];
  return fieldErrors(error, by).map((one) => `${one.pointer ?? '-'} ${one[show]}`);
}
const refuseData = (data: Record<string, unknown>, by = schema) => refuse({ data: { ...VALID, ...data } }, by);
const json = (text: string) => JSON.parse(text) as Record<string, unknown>;

describe('a create request', () => {
  test('needs only an amount, which becomes pence, and a reference', () => {
    expect(accept({})).toEqual({ amount: 123_450, reference: 'order 17' });
  });

  test('can have every optional field', () => {
    const rest = {
      allowed_payment_terms: ['PAY_LATER'],
      webhook_url: 'https://shop.example/hooks',
      redirect_url: 'https://shop.example/done',
      source: 'woocommerce 9.1',
      meta_data: { cart: [1, 2, { sku: 'a' }] },
    };
    expect(accept(rest)).toEqual({ amount: 123_450, reference: 'order 17', ...rest });
  });

  test('treats null in an optional field as omitted', () => {
    const nulls = {
      allowed_payment_terms: null,
      webhook_url: null,
      redirect_url: null,
      source: null,
      meta_data: null,
    };
    expect(accept(nulls)).toEqual(accept({}));
    expect(JSON.stringify(accept(nulls))).toBe(JSON.stringify(accept({})));
  });
});

describe('the envelope', () => {
  test.each([
    ['a list', [], [' invalid_type']],
    ['a string', 'data', [' invalid_type']],
    ['a number', 1, [' invalid_type']],
    ['null', null, [' required']],
    ['an empty object', {}, ['/data required']],
    ['data that is null', { data: null }, ['/data required']],
    ['data that is a list', { data: [VALID] }, ['/data invalid_type']],
    ['a second member', { data: VALID, meta: {} }, ['/meta unknown_field']],
    ['a bare request', VALID, ['/data required', '/amount unknown_field', '/reference unknown_field']],
    ['a misspelt data', { Data: VALID }, ['/data required', '/Data unknown_field']],
  ])('cannot be %s', (_, body, errors) => {
    expect(refuse(body)).toEqual(errors);
  });
});

describe('an amount', () => {
  test.each([
    [0.01, 1],
    [1, 100],
    [1e2, 10_000],
    [0.1 + 0.2, 30],
    [19.99 * 3, 5997],
    [10_000_000, 1_000_000_000],
    [9_999_999.99, 999_999_999],
  ])('of %d is accepted as %d pence', (amount, pence) => {
    expect(accept({ amount }).amount).toBe(pence);
  });

  test.each([
    ['0', 'too_small'],
    ['-0', 'too_small'],
    ['-0.01', 'too_small'],
    ['-1e300', 'too_small'],
    ['0.001', 'invalid_amount'],
    ['1e-15', 'invalid_amount'],
    ['1.999', 'invalid_amount'],
    ['10000000.001', 'invalid_amount'],
    ['10000000.01', 'too_big'],
    ['99999999999.99', 'too_big'],
    ['9007199254740993', 'too_big'],
    ['1e300', 'too_big'],
    ['1e400', 'invalid_type'],
    ['-1e400', 'invalid_type'],
    ['"10"', 'invalid_type'],
    ['"10.00"', 'invalid_type'],
    ['""', 'invalid_type'],
    ['true', 'invalid_type'],
    ['[10]', 'invalid_type'],
    ['{"value": 10}', 'invalid_type'],
    ['null', 'required'],
  ])('of %s is refused: %s', (text, code) => {
    expect(refuseData(json(`{"amount": ${text}}`))).toEqual([`/data/amount ${code}`]);
  });

  test('of NaN, which JSON cannot express, is refused', () => {
    expect(refuseData({ amount: NaN })).toEqual(['/data/amount invalid_type']);
  });

  test('is required', () => {
    expect(refuse({ data: { reference: 'x' } })).toEqual(['/data/amount required']);
  });

  test('above the limit gets an error with the limit', () => {
    expect(refuse({ data: { ...VALID, amount: 1e9 } }, schema, 'detail')).toEqual([
      '/data/amount must be at most £10,000,000.00',
    ]);
  });

  test('has the configured limit', () => {
    const upTo50 = createOrderRequestSchema({ ...PRODUCTION, maxAmountPence: 5000 });
    expect(accept({ amount: 50 }, upTo50).amount).toBe(5000);
    expect(refuseData({ amount: 50.01 }, upTo50)).toEqual(['/data/amount too_big']);
  });
});

describe('a reference', () => {
  test.each([
    'a',
    '0',
    'order 17',
    '  inner   blanks  '.trim(),
    '#1001/2-B_c.d~e',
    '<script>alert(1)</script>',
    "'; drop table orders; --",
    '注文番号１７',
    'Ωmega-Bücher-é',
    '👩‍👩‍👧‍👦',
    'می‌خواهم',
    'null',
    '__proto__',
    'x'.repeat(255),
    '🎉'.repeat(255),
  ])('can be %j', (reference) => {
    expect(accept({ reference }).reference).toBe(reference);
  });

  test.each([
    ['', 'too_small'],
    ['x'.repeat(256), 'too_big'],
    ['🎉'.repeat(256), 'too_big'],
    [' a', 'surrounding_blanks'],
    ['a ', 'surrounding_blanks'],
    ['\u00a0a', 'surrounding_blanks'],
    [' ', 'surrounding_blanks'],
    ['a\u0000b', 'invalid_characters'],
    ['a\nb', 'invalid_characters'],
    ['a\tb', 'invalid_characters'],
    ['a\u0007b', 'invalid_characters'],
    ['a\u007fb', 'invalid_characters'],
    ['a\u0085b', 'invalid_characters'],
    ['a\u2028b', 'invalid_characters'],
    ['a\u202eb', 'invalid_characters'],
    ['a\u200bb', 'invalid_characters'],
    ['a\u00adb', 'invalid_characters'],
    ['a\ue000b', 'invalid_characters'],
    ['a\uffffb', 'invalid_characters'],
    ['a\ud800b', 'invalid_characters'],
    ['a\udc00b', 'invalid_characters'],
    [1, 'invalid_type'],
    [true, 'invalid_type'],
    [['a'], 'invalid_type'],
    [{ a: 1 }, 'invalid_type'],
    [null, 'required'],
    [undefined, 'required'],
  ])('cannot be %j: %s', (reference, code) => {
    expect(refuseData({ reference })).toEqual([`/data/reference ${code}`]);
  });

  test('gets an error for each violated rule', () => {
    expect(refuseData({ reference: ` \u0000${'x'.repeat(255)}` })).toEqual([
      '/data/reference too_big',
      '/data/reference invalid_characters',
      '/data/reference surrounding_blanks',
    ]);
  });
});

describe('allowed_payment_terms', () => {
  test.each([[['PAY_NOW']], [['PAY_LATER']], [['PAY_NOW', 'PAY_LATER']], [['PAY_LATER', 'PAY_NOW']]])(
    'can be %j, and keeps its order',
    (terms) => {
      expect(accept({ allowed_payment_terms: terms }).allowed_payment_terms).toEqual(terms);
    },
  );

  test.each([
    [[], ['/data/allowed_payment_terms too_small']],
    [['PAY_NOW', 'PAY_NOW'], ['/data/allowed_payment_terms duplicate_value']],
    [['PAY_NOW', 'PAY_LATER', 'PAY_NOW'], ['/data/allowed_payment_terms duplicate_value']],
    [['PAY_NEVER'], ['/data/allowed_payment_terms/0 invalid_value']],
    [['pay_now'], ['/data/allowed_payment_terms/0 invalid_value']],
    [
      ['X', 'PAY_NOW', 7, null],
      [
        '/data/allowed_payment_terms/0 invalid_value',
        '/data/allowed_payment_terms/2 invalid_value',
        '/data/allowed_payment_terms/3 required',
      ],
    ],
    ['PAY_NOW', ['/data/allowed_payment_terms invalid_type']],
    [{ 0: 'PAY_NOW' }, ['/data/allowed_payment_terms invalid_type']],
  ])('cannot be %j', (terms, errors) => {
    expect(refuseData({ allowed_payment_terms: terms })).toEqual(errors);
  });

  test('with an unknown term gets an error that lists the known terms', () => {
    expect(refuse({ data: { ...VALID, allowed_payment_terms: ['LATER'] } }, schema, 'detail')).toEqual([
      '/data/allowed_payment_terms/0 must be one of PAY_NOW, PAY_LATER',
    ]);
  });
});

describe('redirect_url', () => {
  test.each([
    'https://shop.example',
    'https://shop.example/done?a=b%20c+d&e#top',
    'https://shop.example:8443/done',
    'HTTPS://shop.example/done',
    'https://bücher.example/straße',
    'https://shop.example/done?orderId=1',
    'https://shop.example/user@host?mail=a@b.example',
    'https://localhost/done',
    'https://127.0.0.1/done',
    `https://shop.example/${'a'.repeat(2027)}`,
  ])('can be %s', (redirect_url) => {
    expect(accept({ redirect_url }).redirect_url).toBe(redirect_url);
  });

  test.each([
    'http://shop.example/done',
    '',
    '/done',
    'shop.example/done',
    '//shop.example/done',
    'https:shop.example',
    'https:/shop.example',
    'https:///shop.example',
    'https://',
    'https://?a=1',
    'https://#top',
    'https://exa<mple/',
    'https://shop.example:99999/',
    'javascript:alert(1)',
    'javascript://shop.example/%0aalert(1)',
    'data:text/html,<script>alert(1)</script>',
    'file:///etc/passwd',
    'ftp://shop.example/',
    'https:\\\\shop.example\\done',
    'https://shop.example\\@evil.example/',
    'https://user@shop.example/',
    'https://user:secret@shop.example/',
    'https://@shop.example/',
    'https://:@shop.example/',
    'https://shop.example:443@evil.example/',
    ' https://shop.example/',
    'https://shop.example/a b',
    'https://shop.example/\r\nSet-Cookie: a=b',
    'https://shop.example/\u0000',
    'https://sh\top.example/',
    'https://sh\u00adop.example/',
    'https://shop.example/\u202e',
    'https://shop.example/\ud800',
    `https://shop.example/${'a'.repeat(2028)}`,
    `https://shop.example/${'a'.repeat(10_000)}`,
  ])('cannot be %j', (redirect_url) => {
    expect(refuseData({ redirect_url })).toEqual(['/data/redirect_url invalid_url']);
  });

  test.each([1, true, [], {}, ['https://shop.example/']])('cannot be %j, which is not a string', (redirect_url) => {
    expect(refuseData({ redirect_url })).toEqual(['/data/redirect_url invalid_type']);
  });

  test('can use http outside production, but no other scheme', () => {
    expect(accept({ redirect_url: 'http://localhost:3000/done' }, httpToo).redirect_url).toBeDefined();
    expect(refuseData({ redirect_url: 'ftp://localhost/' }, httpToo)).toEqual(['/data/redirect_url invalid_url']);
    expect(refuseData({ redirect_url: 'http://a@localhost/' }, httpToo)).toEqual(['/data/redirect_url invalid_url']);
  });
});

describe('webhook_url', () => {
  test('can be a URL that webhooks may be sent to', () => {
    expect(accept({ webhook_url: 'https://shop.example/hooks?a=1' }).webhook_url).toBe(
      'https://shop.example/hooks?a=1',
    );
  });

  test.each([
    'http://shop.example/hooks',
    'https://127.0.0.1/hooks',
    'https://169.254.169.254/latest/meta-data',
    'https://localhost/',
    'https://[::1]/',
    'https://user:secret@shop.example/',
    'https://shop.example:22/',
    'javascript:alert(1)',
    '//shop.example/hooks',
    'https://shop.example\\hooks',
    'https://shop.example/\r\nX: y',
    `https://shop.example/${'a'.repeat(10_000)}`,
    '',
  ])('cannot be %j', (webhook_url) => {
    expect(refuseData({ webhook_url })).toEqual(['/data/webhook_url invalid_url']);
  });

  test('gets an error with the reason', () => {
    expect(refuse({ data: { ...VALID, webhook_url: 'http://shop.example/' } }, schema, 'detail')).toEqual([
      '/data/webhook_url must use https',
    ]);
  });

  test.each([1, false, [], {}])('cannot be %j, which is not a string', (webhook_url) => {
    expect(refuseData({ webhook_url })).toEqual(['/data/webhook_url invalid_type']);
  });
});

describe('source', () => {
  test('has at most 100 characters', () => {
    expect(accept({ source: 'x'.repeat(100) }).source).toHaveLength(100);
    expect(refuseData({ source: 'x'.repeat(101) })).toEqual(['/data/source too_big']);
  });

  test.each([
    ['', 'too_small'],
    [' a', 'surrounding_blanks'],
    ['a\u0000', 'invalid_characters'],
    [1, 'invalid_type'],
  ])('cannot be %j', (source, code) => {
    expect(refuseData({ source })).toEqual([`/data/source ${code}`]);
  });
});

describe('meta_data', () => {
  /** An object whose JSON, `{"a":"…"}`, has this many bytes. */
  const ofBytes = (bytes: number, unit = 'x') => ({ a: unit.repeat((bytes - 8) / Buffer.byteLength(unit)) });
  const nested = (depth: number): Record<string, unknown> => (depth === 1 ? {} : { a: nested(depth - 1) });

  test.each([
    '{}',
    '{"a":null,"b":[1,2.5,"x",{"c":false}],"":"empty key"}',
    '{"constructor":1,"toString":{"prototype":2},"hasOwnProperty":null}',
    '{"10":"a","9":"b","z":1,"a":2}',
    '{"emoji":"👩‍👩‍👧‍👦","newline":"a\\nb"}',
  ])('can be %s', (text) => {
    expect(JSON.stringify(accept({ meta_data: json(text) }).meta_data)).toBe(JSON.stringify(json(text)));
  });

  test('has at most 16 KiB as JSON, counted in bytes', () => {
    expect(JSON.stringify(ofBytes(16 * 1024))).toHaveLength(16 * 1024);
    expect(refuseData({ meta_data: ofBytes(16 * 1024) })).toEqual([]);
    expect(refuseData({ meta_data: ofBytes(16 * 1024 + 1) })).toEqual(['/data/meta_data too_big']);
    expect(refuseData({ meta_data: ofBytes(16 * 1024, '😀') })).toEqual([]);
    expect(refuseData({ meta_data: ofBytes(16 * 1024 + 4, '😀') })).toEqual(['/data/meta_data too_big']);
  });

  test('has at most 32 levels, and any deeper value gets the same error', () => {
    expect(refuseData({ meta_data: nested(32) })).toEqual([]);
    expect(refuseData({ meta_data: nested(33) })).toEqual(['/data/meta_data too_deep']);
    const deep = json(`{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`);
    expect(refuseData({ meta_data: deep })).toEqual(['/data/meta_data too_deep']);
  });

  test.each([
    '{"a":"x\\u0000"}',
    '{"x\\u0000":1}',
    '{"a":["\\ud800"]}',
    '{"a":{"\\udc00":1}}',
    '{"a":{"b":[{"c":"\\udfff\\ud800"}]}}',
  ])('cannot contain text that Postgres cannot store: %s', (text) => {
    expect(refuseData({ meta_data: json(text) })).toEqual(['/data/meta_data invalid_characters']);
  });

  test.each(['9007199254740993', '-123456789012345678901', '{"b":[1e400]}', '-1e400'])(
    'cannot contain a number that JavaScript cannot represent: %s',
    (value) => {
      expect(refuseData({ meta_data: json(`{"a":${value}}`) })).toEqual(['/data/meta_data inexact_number']);
    },
  );

  test.each(['9007199254740991', '-9007199254740991', '1e21', '-1.5e300', '0.1', '1e-400'])(
    'can contain the number %s',
    (value) => {
      expect(refuseData({ meta_data: json(`{"a":${value}}`) })).toEqual([]);
    },
  );

  test.each([[[]], [['a']], ['{}'], [1], [true]])('cannot be %j, which is not an object', (meta_data) => {
    expect(refuseData({ meta_data })).toEqual(['/data/meta_data invalid_type']);
  });
});

describe('an unknown field', () => {
  test.each([
    ['webhookurl', 'webhook_url'],
    ['webhookUrl', 'webhook_url'],
    ['webhook-url', 'webhook_url'],
    ['WEBHOOK_URL', 'webhook_url'],
    ['webhok_url', 'webhook_url'],
    ['redirectURL', 'redirect_url'],
    ['redirect_uri', 'redirect_url'],
    ['metadata', 'meta_data'],
    ['allowedPaymentTerms', 'allowed_payment_terms'],
    ['allowed_payment_term', 'allowed_payment_terms'],
    ['Amount', 'amount'],
    ['refrence', 'reference'],
  ])('%s is refused with a suggestion: %s', (field, suggestion) => {
    expect(refuse({ data: { ...VALID, [field]: 'x' } }, schema, 'detail')).toEqual([
      `/data/${field} is unknown; did you mean ${suggestion}?`,
    ]);
  });

  test.each(['id', 'status', 'currency', 'customer', 'constructor', 'toString', '', '17', 'x'.repeat(10_000)])(
    '%j is refused without a suggestion',
    (field) => {
      expect(refuse({ data: { ...VALID, [field]: 'x' } }, schema, 'detail')).toEqual([`/data/${field} is unknown`]);
    },
  );

  test('named __proto__ is refused too', () => {
    expect(refuse(json('{"data": {"amount": 1, "reference": "x", "__proto__": {"amount": 2}}}'))).toEqual([
      '/data/__proto__ unknown_field',
    ]);
    expect(refuse(json('{"data": {"amount": 1, "reference": "x"}, "__proto__": 1}'))).toEqual([
      '/__proto__ unknown_field',
    ]);
  });

  test('gets an RFC 6901 pointer with ~ and / escaped', () => {
    expect(refuse({ data: { ...VALID, 'a/b~c': 1, '~1': 1 } })).toEqual([
      '/data/a~1b~0c unknown_field',
      '/data/~01 unknown_field',
    ]);
  });
});

test('all errors of a create request are reported together', () => {
  const body = json(`{"data": {"amount": 0.001, "reference": "", "allowed_payment_terms": ["X"],
    "webhook_url": "http://a.example/", "redirect_url": "javascript:alert(1)", "source": 1, "meta_data": [],
    "webhookurl": "https://a.example/"}, "extra": 1}`);
  expect(refuse(body)).toEqual([
    '/data/amount invalid_amount',
    '/data/reference too_small',
    '/data/allowed_payment_terms/0 invalid_value',
    '/data/webhook_url invalid_url',
    '/data/redirect_url invalid_url',
    '/data/source invalid_type',
    '/data/meta_data invalid_type',
    '/data/webhookurl unknown_field',
    '/extra unknown_field',
  ]);
});

test('the detail of an error completes a sentence that starts with the field', () => {
  const body = { data: { amount: '1', allowed_payment_terms: 1, redirect_url: 1, meta_data: 1 } };
  expect(refuse(body, schema, 'detail')).toEqual([
    '/data/amount must be a number',
    '/data/reference is required',
    '/data/allowed_payment_terms must be an array',
    '/data/redirect_url must be a string',
    '/data/meta_data must be an object',
  ]);
});
