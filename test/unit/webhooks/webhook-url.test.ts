import { checkWebhookUrl } from '../../../src/webhooks/webhook-url';

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
    ['https://127.0.0.1./', PRIVATE],
    ['https://127.1/', PRIVATE],
    ['https://127.0.1/', PRIVATE],
    ['https://0177.0.0.1/', PRIVATE],
    ['https://0x7f.0.0.1/', PRIVATE],
    ['https://0x7f000001/', PRIVATE],
    ['https://017700000001/', PRIVATE],
    ['https://2130706433/', PRIVATE],
    ['https://１２７.０.０.１/', PRIVATE],
    ['https://127。0。0。1/', PRIVATE],
    ['https://①②⑦.0.0.1/', PRIVATE],
    ['https://%31%32%37.0.0.1/', PRIVATE],
    ['https://0/', PRIVATE],
    ['https://0.0.0.0/', PRIVATE],
    ['https://10.1.2.3/', PRIVATE],
    ['https://100.100.100.200/', PRIVATE],
    ['https://169.254.169.254/latest/meta-data/', PRIVATE],
    ['https://169.254.170.2/', PRIVATE],
    ['https://2852039166/', PRIVATE],
    ['https://0xa9.0xfe.0xa9.0xfe/', PRIVATE],
    ['https://168.63.129.16/', PRIVATE],
    ['https://172.31.255.255/', PRIVATE],
    ['https://192.0.0.192/', PRIVATE],
    ['https://192.168.0.1/', PRIVATE],
    ['https://255.255.255.255/', PRIVATE],
    ['https://[::]/', PRIVATE],
    ['https://[::1]/', PRIVATE],
    ['https://[0:0:0:0:0:0:0:1]/', PRIVATE],
    ['https://[::127.0.0.1]/', PRIVATE],
    ['https://[::ffff:127.0.0.1]/', PRIVATE],
    ['https://[::ffff:7f00:1]/', PRIVATE],
    ['https://[::ffff:a9fe:a9fe]/', PRIVATE],
    ['https://[64:ff9b::a9fe:a9fe]/', PRIVATE],
    ['https://[2002:7f00:1::]/', PRIVATE],
    ['https://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/', PRIVATE],
    ['https://[fd00:ec2::254]/', PRIVATE],
    ['https://[fe80::1]/', PRIVATE],
    ['https://[fe80::1%25eth0]/', ABSOLUTE],
    ['https://localhost/', LOCALHOST],
    ['https://localhost./', LOCALHOST],
    ['https://LOCALHOST/', LOCALHOST],
    ['https://ｌocalhost/', LOCALHOST],
    ['https://seller.localhost/', LOCALHOST],
    ['https://seller.localhost.:8443/', LOCALHOST],
    ['https://intranet/', DOMAIN],
    ['https://intranet./', DOMAIN],
    ['http://example.com/', 'must use https'],
    ['ftp://example.com/', ABSOLUTE],
    ['wss://example.com/', ABSOLUTE],
    ['file:///etc/passwd', ABSOLUTE],
    ['javascript:alert(1)', ABSOLUTE],
    ['//example.com/', ABSOLUTE],
    ['/hook', ABSOLUTE],
    ['', ABSOLUTE],
    ['example.com', ABSOLUTE],
    ['https:example.com', ABSOLUTE],
    ['https:/example.com', ABSOLUTE],
    ['https:///example.com', ABSOLUTE],
    ['https://', ABSOLUTE],
    ['https://:443/', ABSOLUTE],
    ['https://example.com:99999/', ABSOLUTE],
    ['https://exa<mple.com/', ABSOLUTE],
    ['https://1.2.3.4.5/', ABSOLUTE],
    ['https://256.1.1.1/', ABSOLUTE],
    ['https://user@example.com/', USER],
    ['https://user:secret@example.com/', USER],
    ['https://@example.com/', USER],
    ['https://:@example.com/', USER],
    ['https://example.com:443@127.0.0.1/', USER],
    ['https:\\\\example.com\\', BLANKS],
    ['https://example.com\\@127.0.0.1/', BLANKS],
    ['https://exam\tple.com/', BLANKS],
    ['https://example.com/\r\nX-Injected: 1', BLANKS],
    [' https://example.com/', BLANKS],
    ['https://example.com/a b', BLANKS],
    ['https://example.com/\u0000', BLANKS],
    ['https://exam\u00adple.com/', BLANKS],
    ['https://exam\u200bple.com/', BLANKS],
    ['https://example.com/\ud800', BLANKS],
    ['https://example.com:22/', PORT],
    ['https://example.com:80/', PORT],
    ['https://example.com:0/', PORT],
    ['https://example.com:1023/', PORT],
    ['https://1.1.1.1:25/', PORT],
    ['https://example..com/', 'must have a valid host name'],
    ['https://example.com../', 'must have a valid host name'],
    [`https://${'a'.repeat(64)}.example.com/`, 'must have a valid host name'],
    [`https://${'a.'.repeat(130)}com/`, 'must have a valid host name'],
    [`https://example.com/${'a'.repeat(2029)}`, 'must be at most 2048 characters as it is sent'],
  ])('is rejected: %j', (url, reason) => {
    expect(checkWebhookUrl(url, production)).toBe(reason);
  });

  test.each([
    'https://example.com',
    'https://example.com/',
    'https://example.com./hook',
    'https://example.com:443/hook?shop=1#part',
    'https://example.com:1024/',
    'https://example.com:65535/',
    'HTTPS://EXAMPLE.COM/',
    'https://hooks.shop_1.example.co.uk/',
    'https://localhost.example.com/',
    'https://bücher.example/straße?q=ü',
    'https://xn--bcher-kva.example/',
    'https://example.com/user@host/',
    'https://example.com/?next=https://127.0.0.1/',
    'https://1.1.1.1/',
    'https://168.63.129.17/',
    'https://[2606:4700:4700::1111]:8443/',
    'https://[::ffff:8.8.8.8]/',
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
