import { NO_ENTRIES, entriesOf, readEntries } from '../../../src/checkout/application-form';
import { brandColours } from '../../../src/checkout/brand';
import { html } from '../../../src/checkout/html';
import { waitingPage } from '../../../src/checkout/pages/waiting';
import type { WaitStage } from '../../../src/checkout/stage';
import { styleFor } from '../../../src/checkout/style';
import { formatDate, formatMoment, interestSentences } from '../../../src/checkout/words';
import { BUSINESS } from '../../support/checkout';

describe('a template', () => {
  test('escapes every part, in text and in attributes', () => {
    const evil = `"><script>alert('x')</script>&`;
    expect(html`<p title="${evil}">${evil}</p>`.text).toBe(
      `<p title="&quot;&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;">&quot;&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;</p>`,
    );
  });

  test('takes templates and lists of them as they are, and leaves out what is false or nothing', () => {
    expect(html`${['a<', html`<b>${1}</b>`]}${false}${null}${undefined}${0}`.text).toBe('a&lt;<b>1</b>0');
  });
});

describe('the application form', () => {
  const read = (fields: Record<string, string>) => readEntries(entriesOf({ ...BUSINESS, ...fields }));
  const errorOf = (fields: Record<string, string>) => {
    const outcome = read(fields);
    return 'errors' in outcome ? outcome.errors : undefined;
  };

  test('is read as it was meant', () => {
    expect(
      read({
        business_name: '  Bloggs Ltd ',
        company_number: 'sc 123456',
        email: ' jo@b.example ',
        monthly_turnover: '£12,500.50',
      }),
    ).toEqual({
      applicant: {
        businessName: 'Bloggs Ltd',
        companyNumber: 'SC123456',
        email: 'jo@b.example',
        monthlyTurnoverPence: 1_250_050,
      },
    });
  });

  test.each([
    ['company_number', '1234567', { companyNumber: '01234567' }],
    ['company_number', 'IP12345R', { companyNumber: 'IP12345R' }],
    ['company_number', 'R0000123', { companyNumber: 'R0000123' }],
    ['company_number', 'SP1234RS', { companyNumber: 'SP1234RS' }],
    ['email', 'accounts&orders@b.co.uk', { email: 'accounts&orders@b.co.uk' }],
    ['monthly_turnover', '1,234,567', { monthlyTurnoverPence: 123_456_700 }],
    ['monthly_turnover', '0', { monthlyTurnoverPence: 0 }],
    ['monthly_turnover', ' 10 000.5 ', { monthlyTurnoverPence: 1_000_050 }],
    ['business_name', '<script>alert(1)</script>', { businessName: '<script>alert(1)</script>' }],
  ])('takes %s "%s"', (name, value, applicant) => {
    expect(read({ [name]: value })).toMatchObject({ applicant });
  });

  test.each([
    ['business_name', '   ', 'businessName', /Enter the name/],
    ['business_name', 'x'.repeat(161), 'businessName', /at most 160/],
    ['business_name', 'a\u0000b', 'businessName', /cannot be printed/],
    ['company_number', '', 'companyNumber', /Enter your company number/],
    ['company_number', '12345', 'companyNumber', /8 characters/],
    ['company_number', '123456789', 'companyNumber', /8 characters/],
    ['company_number', '00000000', 'companyNumber', /8 characters/],
    ['email', 'jo@localhost', 'email', /such as name@/],
    ['monthly_turnover', '12500,00', 'monthlyTurnover', /amount in pounds/],
    ['monthly_turnover', '1,2,3', 'monthlyTurnover', /amount in pounds/],
    ['email', '', 'email', /Enter your email/],
    ['email', 'jo', 'email', /such as name@/],
    ['email', 'jo@b.example\r\nBcc: x@y.example', 'email', /such as name@/],
    ['email', `${'x'.repeat(250)}@b.example`, 'email', /too long/],
    ['monthly_turnover', '', 'monthlyTurnover', /Enter your estimated/],
    ['monthly_turnover', '-1', 'monthlyTurnover', /amount in pounds/],
    ['monthly_turnover', '1e9', 'monthlyTurnover', /amount in pounds/],
    ['monthly_turnover', '12.345', 'monthlyTurnover', /amount in pounds/],
    ['monthly_turnover', '999999999999', 'monthlyTurnover', /at most/],
  ])('refuses %s "%s"', (name, value, field, message) => {
    expect(errorOf({ [name]: value })).toEqual({ [field]: expect.stringMatching(message) });
  });

  test('tells what is wrong with every field at once', () => {
    expect(Object.keys(errorOf({ business_name: '', company_number: '', email: '', monthly_turnover: '' })!)).toEqual(
      Object.keys(NO_ENTRIES),
    );
  });
});

describe("a seller's colour", () => {
  test.each([
    ['#ffffff', '#000000'],
    ['#000000', '#ffffff'],
    ['#ffd400', '#000000'],
    ['#1F4F8F', '#ffffff'],
    ['#808080', '#000000'],
  ])('%s has %s written on it', (colour, onBrand) => {
    expect(brandColours(colour)).toEqual({ brand: colour, onBrand });
  });

  test.each([
    ['#1c1f26', true, false],
    ['#ffffff', false, true],
    ['#1f4f8f', true, false],
    ['#c2410c', true, true],
  ])('%s has an edge of its own on a light card: %s, on a dark one: %s', (colour, onLight, onDark) => {
    const edges = [...styleFor(colour).element.text.matchAll(/--edge:([^}]*)}/g)].map(([, edge]) => edge === colour);
    expect(edges).toEqual([onLight, onDark]);
  });

  test('that is none becomes our own, and nothing else gets into the stylesheet', () => {
    for (const colour of ['red', '#12345', '#1234567', '#000}</style><script>', '', null]) {
      expect(brandColours(colour).brand).toBe(brandColours(null).brand);
      expect(styleFor(colour)).toEqual(styleFor(null));
    }
  });
});

test('dates and times are British, as they are in London', () => {
  expect(formatDate('2027-01-31')).toBe('31 January 2027');
  expect(formatMoment('2027-07-01T22:30:00Z')).toBe('1 July 2027 at 23:30');
});

test('who waits is told so more calmly as time goes by, and the page starts anew less often', () => {
  const after = (seconds: number, stage: WaitStage = 'waiting') => {
    const now = new Date('2027-01-15T12:00:00Z');
    const since = new Date(now.getTime() - seconds * 1000);
    const { refresh, content } = waitingPage({ path: '/pay/x', stage, since, isStill: false, now });
    return [refresh?.afterSeconds, /usually takes|longer than usual/.exec(content.text)?.[0]];
  };
  expect([after(1), after(31), after(91)]).toEqual([
    [5, 'usually takes'],
    [5, 'longer than usual'],
    [30, 'longer than usual'],
  ]);
  expect(after(31, 'completing')).toEqual([5, 'longer than usual']);
});

test('interest and promotions are told in plain words, but for promotions that have ended', () => {
  const promotions = [
    { name: 'Spring offer', interestFreeDays: 30, validUntil: '2027-03-31' },
    { name: 'Old offer', interestFreeDays: 60, validUntil: '2027-01-14' },
  ];
  const now = new Date('2027-01-15T12:00:00Z');
  expect(interestSentences({ representativeInterest: 12.9, promotions }, now)).toEqual([
    'Representative interest: 12.9% a year.',
    'Spring offer: no interest for the first 30 days, if you start by 31 March 2027.',
  ]);
  expect(interestSentences({ representativeInterest: 0, promotions }, now)).toEqual([
    'No interest: you repay what the order costs.',
  ]);
});
