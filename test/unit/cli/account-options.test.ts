import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { type AccountOptions, toAccountSettings } from '../../../src/cli/account-options';
import { UsageError } from '../../../src/cli/cli-error';
import { useFolder } from '../../support/folder';

/** The first bytes of each format, in hex. */
const SIGNATURES = {
  'image/png': '89504e470d0a1a0a',
  'image/jpeg': 'ffd8ff',
  'image/webp': '524946461234567857454250',
};

const folder = useFolder();

function file(content: string | Buffer): string {
  const name = path.join(folder, 'file');
  writeFileSync(name, content);
  return name;
}

/** Returns the error message for invalid options, or '' for valid ones. */
function errorFor(options: AccountOptions, httpsOnly = false): string {
  try {
    toAccountSettings(options, httpsOnly);
    return '';
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return error.message;
  }
}

test('options become account settings in internal units', () => {
  const pricing = '{"promotions":[{"name":"Spring","interest_free_days":90,"valid_until":"2027-05-31"}]}';
  const options = {
    name: 'Shop',
    redirectUrl: 'https://shop.example',
    cancelUrl: 'https://shop.example/cart',
    pricing,
    maxOrderAmount: '0.3',
    rateLimit: '60',
  };
  expect(toAccountSettings({ ...options, brandColour: '#ABCDEF' }, true)).toEqual({
    account: {
      name: 'Shop',
      defaultRedirectUrl: 'https://shop.example',
      defaultCancelUrl: 'https://shop.example/cart',
      pricing: {
        representativeInterest: 0,
        promotions: [{ name: 'Spring', interestFreeDays: 90, validUntil: '2027-05-31' }],
      },
      maxOrderAmountPence: 30,
      rateLimit: 60,
    },
    branding: { colour: '#abcdef' },
  });
});

test('pricing can be read from a file', () => {
  const pricing = `@${file('{"representative_interest":9.9}')}`;
  expect(toAccountSettings({ pricing }, true).account).toEqual({
    pricing: { representativeInterest: 9.9, promotions: [] },
  });
});

test.each(Object.entries(SIGNATURES))('a logo is recognized as %s by its first bytes', (type, signature) => {
  const bytes = Buffer.concat([Buffer.from(signature, 'hex'), Buffer.alloc(20)]);
  expect(toAccountSettings({ logo: file(bytes) }, true).branding).toEqual({ logo: { type, bytes } });
});

test('a logo can have at most 32 KiB', () => {
  const ofSize = (size: number) =>
    file(Buffer.concat([Buffer.from(SIGNATURES['image/png'], 'hex'), Buffer.alloc(size - 8)]));
  expect(errorFor({ logo: ofSize(32_768) })).toBe('');
  expect(errorFor({ logo: ofSize(32_769) })).toBe('--logo must be at most 32 KiB');
});

test.each(['<svg xmlns="http://www.w3.org/2000/svg"/>', 'GIF89a', 'RIFF1234WAVE', '\x89PNG', ''])(
  'a logo with the content %j is rejected',
  (content) => {
    expect(errorFor({ logo: file(content) })).toBe('--logo must be a PNG, JPEG or WebP image');
  },
);

test.each<[AccountOptions, RegExp]>([
  [{ name: 'a\u0000b' }, /^--name must contain only printable characters$/],
  [{ redirectUrl: 'https://me:secret@shop.example' }, /^--redirect-url must not contain a user name or password$/],
  [{ pricing: '{' }, /^--pricing is not valid JSON$/],
  [{ pricing: '@/nonexistent' }, /^--pricing cannot be read: ENOENT/],
  [{ pricing: '{"representative_interest":-1}' }, /^--pricing \/representative_interest must not be negative$/],
  [
    { pricing: '{"representative_interest":990}' },
    /^--pricing \/representative_interest must be at most 100, in percent a year: 9.9 means 9.9%$/,
  ],
  [
    { pricing: '{"promotions":[{"name":"x","interest_free_days":36500,"valid_until":"2027-02-28"}]}' },
    /^--pricing \/promotions\/0\/interest_free_days must be at most 3660$/,
  ],
  [{ pricing: '{"interest":9}' }, /^--pricing \/interest is unknown$/],
  [
    { pricing: '{"promotions":[{"name":"x","interest_free_days":1.5,"valid_until":"2027-02-30"}]}' },
    /\/promotions\/0\/interest_free_days must be a whole number; .*\/valid_until must be a date such as 2027-01-31$/,
  ],
  [{ brandColour: '#abc' }, /^--brand-colour must be a colour such as #1a2b3c$/],
  [{ logo: '/nonexistent' }, /^--logo cannot be read: ENOENT/],
  [{ maxOrderAmount: '0' }, /^--max-order-amount must be greater than 0$/],
  [{ maxOrderAmount: '0.001' }, /^--max-order-amount must be in pounds/],
  [{ maxOrderAmount: '1e12' }, /^--max-order-amount must be at most £999,999,999,999.99$/],
  [{ ordersPerDay: '0', bytesPerDay: 'x' }, /^--orders-per-day must be at least 1; --bytes-per-day must be a number$/],
  [
    { pricing: '{', logo: '/nonexistent', brandColour: 'red', rateLimit: '-1' },
    /^--logo cannot be read: .*; --pricing is not valid JSON; --brand-colour .*; --rate-limit /,
  ],
])('the options %j are rejected with a message for each error', (options, expected) => {
  expect(errorFor(options)).toMatch(expected);
});

test.each(['redirectUrl', 'cancelUrl', 'shopUrl'])('%s must use https if only https is allowed', (option) => {
  expect(errorFor({ [option]: 'http://shop.example' }, true)).toMatch(/^--[a-z]+-url must use https$/);
  expect(errorFor({ [option]: 'http://shop.example' }, false)).toBe('');
});
