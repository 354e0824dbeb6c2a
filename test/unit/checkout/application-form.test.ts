import { EMPTY_FORM, toFormValues, validateForm } from '../../../src/checkout/domain/application-form';

const VALID = {
  business_name: 'Bloggs & Daughters Ltd',
  company_number: '01234567',
  email: 'jo@bloggs.example',
  monthly_turnover: '12,500',
};

const validate = (fields: Record<string, string>) => validateForm(toFormValues({ ...VALID, ...fields }));
const errorsOf = (fields: Record<string, string>) => {
  const result = validate(fields);
  return 'errors' in result ? result.errors : undefined;
};

test('validation normalizes spaces, case and amounts', () => {
  expect(
    validate({
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
  ['company_number', 'sl00911a', { companyNumber: 'SL00911A' }],
  ['email', 'accounts&orders@b.co.uk', { email: 'accounts&orders@b.co.uk' }],
  ['monthly_turnover', '1,234,567', { monthlyTurnoverPence: 123_456_700 }],
  ['monthly_turnover', ' 10 000.5 ', { monthlyTurnoverPence: 1_000_050 }],
  ['monthly_turnover', '£12\u00a0500.00', { monthlyTurnoverPence: 1_250_000 }],
  ['monthly_turnover', '\u200e£\u202f12\u2009500\u200b', { monthlyTurnoverPence: 1_250_000 }],
  ['company_number', '\ufeff0123\u00a04567', { companyNumber: '01234567' }],
  ['email', '\u00a0jo@b.example\u200b', { email: 'jo@b.example' }],
  ['business_name', 'Bloggs\u00a0& Daughters\u200b Ltd', { businessName: 'Bloggs & Daughters Ltd' }],
  ['business_name', '<script>alert(1)</script>', { businessName: '<script>alert(1)</script>' }],
])('the form accepts %s "%s"', (name, value, applicant) => {
  expect(validate({ [name]: value })).toMatchObject({ applicant });
});

test.each([
  ['business_name', '   ', 'business_name', /Enter your business name/],
  ['business_name', 'x'.repeat(161), 'business_name', /160 characters or fewer/],
  ['business_name', 'a\u0000b', 'business_name', /printable/],
  ['company_number', '', 'company_number', /Enter your company number/],
  ['company_number', '12345', 'company_number', /8-character/],
  ['company_number', '00000000', 'company_number', /8-character/],
  ['company_number', 'COMPANY1', 'company_number', /8-character/],
  ['email', 'jo@localhost', 'email', /like name@/],
  ['monthly_turnover', '12500,00', 'monthly_turnover', /amount in pounds/],
  ['monthly_turnover', '1,2,3', 'monthly_turnover', /amount in pounds/],
  ['email', '', 'email', /Enter your email/],
  ['email', 'jo@b.example\r\nBcc: x@y.example', 'email', /like name@/],
  ['email', `${'x'.repeat(250)}@b.example`, 'email', /254 characters or fewer/],
  ['monthly_turnover', '', 'monthly_turnover', /Enter your estimated/],
  ['monthly_turnover', '12.345', 'monthly_turnover', /amount in pounds/],
  ['monthly_turnover', '999999999999', 'monthly_turnover', /or less/],
])('the form refuses %s "%s"', (name, value, field, message) => {
  expect(errorsOf({ [name]: value })).toEqual({ [field]: expect.stringMatching(message) });
});

test('validation reports an error for every invalid field', () => {
  const errors = errorsOf({ business_name: '', company_number: '', email: '', monthly_turnover: '' })!;
  expect(Object.keys(errors)).toEqual(Object.keys(EMPTY_FORM));
});
