import { createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import {
  type KeyRing,
  PLAIN,
  DecryptionError,
  createKeyRing,
  keyIdOf,
  parseKeys,
} from '../../../src/encryption/key-ring';

const OLD = { id: 'old', key: randomBytes(32) };
const NEW = { id: 'new', key: randomBytes(32) };
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

let ring: KeyRing;
beforeEach(() => (ring = createKeyRing([NEW, OLD])));

test('a text is encrypted with the first key, differently each time, and decrypted with any', () => {
  const encrypted = ring.encryptText(SECRET, 'seller');
  expect(keyIdOf(encrypted)).toBe('new');
  expect(encrypted).not.toContain(SECRET);
  expect(ring.encryptText(SECRET, 'seller')).not.toBe(encrypted);
  expect(ring.decryptText(encrypted, 'seller')).toBe(SECRET);
  expect(ring.decryptText(createKeyRing([OLD]).encryptText(SECRET, 'seller'), 'seller')).toBe(SECRET);
});

test('each message has a key of its own, derived with 96 random bits, so that 2^32 messages with one key are safe', () => {
  const open = (data: Buffer, key: Buffer): string =>
    createDecipheriv('aes-256-gcm', key, data.subarray(12, 24))
      .setAAD(Buffer.from('order'))
      .setAuthTag(data.subarray(24, 40))
      .update(data.subarray(40))
      .toString();
  const derived = (salt: Buffer): Buffer => Buffer.from(hkdfSync('sha256', NEW.key, salt, 'order-service', 32));
  const [one, two] = [1, 2].map(() => ring.encrypt(Buffer.from(SECRET), 'order').data) as [Buffer, Buffer];
  for (const data of [one, two]) expect(open(data, derived(data.subarray(0, 12)))).toBe(SECRET);
  expect(open(one, NEW.key)).not.toBe(SECRET);
  expect(open(two, derived(one.subarray(0, 12)))).not.toBe(SECRET);
});

test.each([
  ['moved to another context', (text: string) => text, 'other seller', /not valid/],
  ['changed', (text: string) => text.slice(0, -2) + (text.endsWith('AA') ? 'BB' : 'AA'), 'seller', /not valid/],
  ['cut off', () => 'enc:new:abcd', 'seller', /incomplete/],
  ['encrypted with a key that is not configured', (s: string) => s.replace('new', 'lost'), 'seller', /"lost" is not/],
])('a text that was %s is refused', (_, change, context, message) => {
  expect(() => ring.decryptText(change(ring.encryptText(SECRET, 'seller')), context)).toThrow(message);
});

test('without keys, texts are stored as they are', () => {
  expect(createKeyRing([]).encryptText(SECRET, 'seller')).toBe(SECRET);
  expect(createKeyRing([]).decryptText(SECRET, 'seller')).toBe(SECRET);
  expect(keyIdOf(SECRET)).toBeUndefined();
});

test.each([
  ['as it is', SECRET],
  ['with the mark of encrypted texts', 'enc:new'],
  ['under the name of "plain"', createKeyRing([{ ...OLD, id: 'plain' }]).encryptText(SECRET, 'seller')],
])('a secret that somebody wrote to the database %s is refused', (_, text) => {
  expect(() => ring.decryptText(text, 'seller')).toThrow(DecryptionError);
});

test('encryption is turned on in three steps, after each of which all processes of the step before can read', () => {
  const steps = [[], [PLAIN, NEW], [NEW, PLAIN]].map(createKeyRing) as [KeyRing, KeyRing, KeyRing];
  expect(steps.map(({ firstKey }) => firstKey)).toEqual([undefined, undefined, 'new']);
  const [none, decrypts, encrypts] = steps.map((step) => step.encryptText(SECRET, 'seller')) as [
    string,
    string,
    string,
  ];
  expect([none, decrypts]).toEqual([SECRET, SECRET]);
  expect(keyIdOf(encrypts)).toBe('new');
  for (const reader of steps.slice(1))
    expect([none, encrypts].map((text) => reader.decryptText(text, 'seller'))).toEqual([SECRET, SECRET]);
  expect(createKeyRing([NEW]).decryptText(encrypts, 'seller')).toBe(SECRET);
  expect(() => createKeyRing([NEW]).decryptText(none, 'seller')).toThrow(/not encrypted/);
});

test.each([
  ['a key that is too short', `a:${randomBytes(16).toString('base64')}`],
  ['a key without an id', randomBytes(32).toString('base64')],
  ['a repeated id', [OLD, OLD].map(({ id, key }) => `${id}:${key.toString('base64')}`).join(',')],
  ['a key whose id is plain', `plain:${OLD.key.toString('base64')},plain`],
  ['an empty entry', `a:${OLD.key.toString('base64')},`],
])('ENCRYPTION_KEYS with %s is invalid', (_, text) => {
  expect(parseKeys(text)).toBeUndefined();
});

test('ENCRYPTION_KEYS keeps the order of its keys', () => {
  const text = [NEW, OLD].map(({ id, key }) => `${id}:${key.toString('base64')}`).join(', ');
  expect(parseKeys(text)).toEqual([NEW, OLD]);
  expect(parseKeys(`${text}, plain`)?.[2]).toBe(PLAIN);
});
