import { Webhook } from 'standardwebhooks';
import { generateWebhookSecret, signWebhook } from '../../../src/webhooks/sign';

const nowSeconds = () => Math.floor(Date.now() / 1000);

/** Published with the Standard Webhooks specification and its libraries. */
const vectors = [
  {
    secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    timestamp: 1614265330,
    body: '{"test": 2432232314}',
    signature: 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  },
  {
    secret: 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD',
    id: 'msg_27UH4WbU6Z5A5EzD8u03UvzRbpk',
    timestamp: 1649367553,
    body: '{"email":"test@example.com","username":"test_user"}',
    signature: 'v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw=',
  },
];

describe('webhook signing', () => {
  test.each(vectors)('returns the published signature of $id', ({ secret, id, timestamp, body, signature }) => {
    expect(signWebhook([secret], id, timestamp, body)).toBe(signature);
  });

  test('returns a signature that the published library accepts, for any text', () => {
    const secret = generateWebhookSecret();
    const timestamp = nowSeconds();
    for (const body of ['{}', '{"name":"Zoë 🛒 \\u0000"}', JSON.stringify({ text: 'x'.repeat(100_000) })]) {
      const headers = {
        'webhook-id': 'evt_1',
        'webhook-timestamp': String(timestamp),
        'webhook-signature': signWebhook([secret], 'evt_1', timestamp, body),
      };
      expect(new Webhook(secret).verify(body, headers)).toEqual(JSON.parse(body));
      expect(() => new Webhook(secret).verify(`${body} `, headers)).toThrow('No matching signature found');
    }
  });

  test('lets a receiver verify with either secret of a rotation and with no other secret', () => {
    const [older, newer, other] = [generateWebhookSecret(), generateWebhookSecret(), generateWebhookSecret()];
    const timestamp = nowSeconds();
    const signature = signWebhook([newer, older], 'evt_1', timestamp, '{}');
    const headers = { 'webhook-id': 'evt_1', 'webhook-timestamp': String(timestamp), 'webhook-signature': signature };
    expect(signature.split(' ')).toHaveLength(2);
    expect(new Webhook(older).verify('{}', headers)).toEqual({});
    expect(new Webhook(newer).verify('{}', headers)).toEqual({});
    expect(() => new Webhook(other).verify('{}', headers)).toThrow('No matching signature found');
  });

  test('generates secrets of 32 random bytes', () => {
    const secrets = new Set(Array.from({ length: 50 }, generateWebhookSecret));
    expect(secrets.size).toBe(50);
    for (const secret of secrets) {
      expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    }
  });

  test.each([
    ['no prefix', 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
    ['another prefix', 'wh-sk-MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
    ['not base64', 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2La-!Sw'],
    ['too short', `whsec_${Buffer.alloc(23).toString('base64')}`],
    ['too long', `whsec_${Buffer.alloc(65).toString('base64')}`],
  ])('rejects a malformed secret (%s) without repeating it', (_why, secret) => {
    expect(() => signWebhook([secret], 'evt_1', 1, '{}')).toThrow(
      new TypeError('a webhook secret must be whsec_ followed by 24 to 64 bytes in base64'),
    );
  });

  test('rejects an empty list of secrets', () => {
    expect(() => signWebhook([], 'evt_1', 1, '{}')).toThrow(RangeError);
  });
});
