import { checkWebhookUrl } from '../../../src/webhooks/address-guard';

const production = { allowPrivate: false, allowHttp: false };
const httpToo = { allowPrivate: false, allowHttp: true };
const localStack = { allowPrivate: true, allowHttp: true };

const PRIVATE = 'must not point to a private or reserved address';
const LOCALHOST = 'must not point to localhost';
const DOMAIN = 'must have a full host name, with a domain';
const ABSOLUTE = 'must be an absolute http(s) URL';
const BLANKS = 'must not contain backslashes, whitespace or control characters';
const USER = 'must not contain a user name or password';
const PORT = 'must use port 443 or a port from 1024';

describe('a webhook URL in production', () => {
  test.each([
    ['https://127.0.0.1/', PRIVATE],
    ['https://0x7f000001/', PRIVATE],
    ['https://１２７.０.０.１/', PRIVATE],
    ['https://10.1.2.3/', PRIVATE],
    ['https://169.254.169.254/latest/meta-data/', PRIVATE],
    ['https://[::1]/', PRIVATE],
    ['https://[::ffff:7f00:1]/', PRIVATE],
    ['https://[fd00:ec2::254]/', PRIVATE],
    ['https://localhost/', LOCALHOST],
    ['https://localhost./', LOCALHOST],
    ['https://seller.localhost.:8443/', LOCALHOST],
    ['https://intranet./', DOMAIN],
    ['http://example.com/', 'must use https'],
    ['ftp://example.com/', ABSOLUTE],
    ['javascript:alert(1)', ABSOLUTE],
    ['//example.com/', ABSOLUTE],
    ['', ABSOLUTE],
    ['https:example.com', ABSOLUTE],
    ['https:///example.com', ABSOLUTE],
    ['https://example.com:99999/', ABSOLUTE],
    ['https://user@example.com/', USER],
    ['https://@example.com/', USER],
    ['https://example.com:443@127.0.0.1/', USER],
    ['https:\\\\example.com\\', BLANKS],
    ['https://example.com/\r\nX-Injected: 1', BLANKS],
    [' https://example.com/', BLANKS],
    ['https://example.com/\u0000', BLANKS],
    ['https://exam\u00adple.com/', BLANKS],
    ['https://example.com/\ud800', BLANKS],
    ['https://example.com:22/', PORT],
    ['https://example.com:80/', PORT],
    ['https://example.com:1023/', PORT],
    ['https://example..com/', 'must have a valid host name'],
    [`https://${'a'.repeat(64)}.example.com/`, 'must have a valid host name'],
    [`https://${'a.'.repeat(130)}com/`, 'must have a valid host name'],
    [`https://example.com/${'a'.repeat(2029)}`, 'must be at most 2048 characters as it is sent'],
  ])('is rejected: %j', (url, reason) => {
    expect(checkWebhookUrl(url, production)).toBe(reason);
  });

  test.each([
    'https://example.com/',
    'https://example.com./hook',
    'https://example.com:443/hook?shop=1#part',
    'https://example.com:1024/',
    'HTTPS://EXAMPLE.COM/',
    'https://localhost.example.com/',
    'https://bücher.example/straße?q=ü',
    'https://example.com/?next=https://127.0.0.1/',
    'https://1.1.1.1/',
    'https://[2606:4700:4700::1111]:8443/',
    `https://example.com/${'a'.repeat(2028)}`,
  ])('is accepted: %j', (url) => {
    expect(checkWebhookUrl(url, production)).toBeUndefined();
  });
});

test('a webhook URL with a letter such as ü is accepted after thousands of checks in the same process', () => {
  const url = 'https://bücher.example/';
  const refused = Array.from({ length: 20_000 }, () => checkWebhookUrl(url, production)).filter(Boolean);
  expect(refused).toEqual([]);
});

describe('a webhook URL under a wider policy', () => {
  test('can use http on ports 80, 443 and from 1024, at public addresses only', () => {
    for (const port of ['', ':443', ':8080']) {
      expect(checkWebhookUrl(`http://example.com${port}/`, httpToo)).toBeUndefined();
    }
    expect(checkWebhookUrl('http://example.com:22/', httpToo)).toBe('must use port 80, 443 or a port from 1024');
    expect(checkWebhookUrl('http://127.0.0.1:8080/', httpToo)).toBe(PRIVATE);
    expect(checkWebhookUrl('ftp://example.com/', httpToo)).toBe(ABSOLUTE);
  });

  test('can have a private address and any port', () => {
    for (const host of ['127.0.0.1', 'localhost', '[::1]', 'receiver', '10.0.0.1:22', 'example.com:9']) {
      expect(checkWebhookUrl(`http://${host}/`, localStack)).toBeUndefined();
    }
  });

  test('must use https at a private address unless http is allowed', () => {
    expect(checkWebhookUrl('http://10.0.0.1/', { allowPrivate: true, allowHttp: false })).toBe('must use https');
    expect(checkWebhookUrl('https://10.0.0.1/', { allowPrivate: true, allowHttp: false })).toBeUndefined();
  });

  test('must follow the syntax rules', () => {
    expect(checkWebhookUrl('http://user@127.0.0.1/', localStack)).toBe(USER);
    expect(checkWebhookUrl('http://127.0.0.1/\n', localStack)).toBe(BLANKS);
    expect(checkWebhookUrl('https:localhost', localStack)).toBe(ABSOLUTE);
  });
});
