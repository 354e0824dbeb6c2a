import { clientNetwork } from '../../../src/api/rate-limit';

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['::1', '::/64'],
  ['2001:db8::1', '2001:db8::/64'],
  ['2001:0DB8:0000:0000:ffff:ffff:ffff:ffff', '2001:db8::/64'],
  ['1::2:3:4:5:6', '1:0:0:2::/64'],
  ['64:ff9b::192.0.2.1', '64:ff9b::/64'],
  ['fe80::1%eth0', 'fe80::/64'],
  ['192.0.2.1:5678', '192.0.2.1'],
  ['[2001:db8::1]:80', '2001:db8::/64'],
  ['[::ffff:192.0.2.1]:443', '192.0.2.1'],
  ['192.0.2.1%eth0', 'unknown'],
  ['unknown', 'unknown'],
  ['999.0.2.1', 'unknown'],
  ['', 'unknown'],
  ['x'.repeat(5000), 'unknown'],
])('address %j counts as network %j', (ip, network) => {
  expect(clientNetwork(ip)).toBe(network);
});
