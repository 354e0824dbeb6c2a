import { isPublicAddress } from '../../../src/webhooks/address-guard';

const refusedIpv4 =
  '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 168.63.129.16/32'.split(
    ' ',
  );

const toIpv4 = (number: number) => [24, 16, 8, 0].map((shift) => (number >>> shift) & 255).join('.');
const fromIpv4 = (ip: string) => ip.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);

const ranges = refusedIpv4.map((subnet) => {
  const [network = '', prefix] = subnet.split('/');
  const first = fromIpv4(network);
  return { subnet, first, last: first + 2 ** (32 - Number(prefix)) - 1 };
});
const isRefused = (number: number) => ranges.some(({ first, last }) => number >= first && number <= last);

describe('isPublicAddress', () => {
  test.each(ranges)(
    'is correct at both ends of $subnet, plain, mapped into IPv6 and translated by NAT64',
    ({ first, last }) => {
      for (const number of [first - 1, first, last, last + 1].filter((n) => n >= 0 && n < 2 ** 32)) {
        const ip = toIpv4(number);
        const hex = `${(number >>> 16).toString(16)}:${(number & 0xffff).toString(16)}`;
        const mapped = [`::ffff:${ip}`, `::ffff:${hex}`, `0:0:0:0:0:FFFF:${hex}`];
        const translated = [`64:ff9b::${ip}`, `64:ff9b::${hex}`, `0064:FF9B:0:0:0:0:${hex}`];
        const verdicts = [ip, ...mapped, ...translated].map(isPublicAddress);
        expect([ip, verdicts]).toEqual([ip, Array(7).fill(!isRefused(number))]);
      }
    },
  );

  test('agrees with plain arithmetic over all of IPv4', () => {
    const wrong: string[] = [];
    for (let i = 0; i < 100_000; i++) {
      // A multiplier coprime to 2^32 covers the address space evenly.
      const number = Math.imul(i, 2_654_435_761) >>> 0;
      if (isPublicAddress(toIpv4(number)) === isRefused(number)) wrong.push(toIpv4(number));
    }
    expect(wrong).toEqual([]);
  });

  test.each([
    ['unspecified', '::'],
    ['loopback', '::1'],
    ['IPv4-compatible', '::7f00:1'],
    ['IPv4-compatible, public inside', '::808:808'],
    ['IPv4-compatible, public inside, as the system writes it', '::8.8.8.8'],
    ['NAT64 of 169.254.169.254', '64:ff9b::a9fe:a9fe'],
    ['NAT64 of 0.0.0.0', '64:ff9b::'],
    ['after NAT64', '64:ff9b::1:808:808'],
    ['NAT64, local', '64:ff9b:1::1'],
    ['IPv4-translated', '::ffff:0:7f00:1'],
    ['discard only', '100::1'],
    ['before global unicast', '1fff:ffff::1'],
    ['Teredo', '2001:0:4136:e378:8000:63bf:3fff:fdd2'],
    ['last protocol assignment', '2001:1ff:ffff::1'],
    ['documentation', '2001:db8::1'],
    ['6to4 of 169.254.169.254', '2002:a9fe:a9fe::1'],
    ['AS112', '2620:4f:8000::1'],
    ['documentation, new', '3fff:0fff::1'],
    ['after global unicast', '4000::1'],
    ['segment routing', '5f00::1'],
    ['unique local', 'fc00::1'],
    ['cloud metadata', 'fd00:ec2::254'],
    ['link local', 'fe80::1'],
    ['link local with a zone', 'fe80::1%eth0'],
    ['global with a zone', '2606:4700::1%1'],
    ['site local', 'fec0::1'],
    ['multicast', 'ff02::1'],
    ['mapped metadata', '::ffff:169.254.169.254'],
    ['a name', 'example.com'],
    ['short IPv4', '127.1'],
    ['empty text', ''],
  ])('rejects %s (%s)', (_what, ip) => {
    expect(isPublicAddress(ip)).toBe(false);
  });

  test.each([
    '1.1.1.1',
    '8.8.8.8',
    '168.63.129.15',
    '168.63.129.17',
    '223.255.255.255',
    '::ffff:8.8.8.8',
    '::ffff:808:808',
    '64:ff9b::8.8.8.8',
    '64:ff9b::808:808',
    '64:ff9b::101:1',
    '2000::1',
    '2001:200::1',
    '2001:4860:4860::8888',
    '2001:db7:ffff::1',
    '2001:db9::1',
    '2003::1',
    '2606:4700:4700::1111',
    '2620:4f:8001::1',
    '3fff:1000::1',
    '3ffe::1',
  ])('accepts %s', (ip) => {
    expect(isPublicAddress(ip)).toBe(true);
  });
});
