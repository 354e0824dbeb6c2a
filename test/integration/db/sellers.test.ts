import { createHash, randomBytes, randomUUID } from 'node:crypto';
import {
  activeWebhookSecrets,
  countSecretsByKey,
  deleteExpiredSecrets,
  encryptSecretsAgain,
  findCredentials,
  insertWebhookSecret,
  rotateWebhookSecret,
  setStaticHeaders,
} from '../../../src/db/secrets';
import { insertOrder } from '../../../src/db/save-order';
import { createCheckoutKey, createSellerKey, findCaller, insertSeller } from '../../../src/db/sellers';
import { DecryptionError, type EncryptionKey, NO_KEYS, createKeyRing } from '../../../src/encryption/key-ring';
import { holdTransaction, useDatabase } from '../../support/database';
import { BY_SELLER, newOrder, newSeller } from '../../support/new-orders';

const database = useDatabase();

const digestOf = (key: string) => createHash('sha256').update(key).digest();

test('a new key has the prefix of its kind and 256 random bits', async () => {
  const id = await newSeller(database.db);
  const keys = [await createSellerKey(database.db, id), await createSellerKey(database.db, id)];
  for (const key of keys) expect(key).toMatch(/^sk_[\w-]{43}$/);
  expect(keys[0]).not.toBe(keys[1]);
  expect(await createCheckoutKey(database.db)).toMatch(/^ck_[\w-]{43}$/);
});

test('the database stores only the digest of a key', async () => {
  const key = await createSellerKey(database.db, await newSeller(database.db));
  const { rows } = await database.db.query('select k::text as row, digest from api_key k where digest = $1', [
    digestOf(key),
  ]);
  expect(rows).toHaveLength(1);
  expect(rows[0].row).not.toContain(key.slice(3));
});

test("a seller's key identifies its seller, with the account", async () => {
  const seller = { id: randomUUID(), name: 'Shop', defaultRedirectUrl: 'https://shop.example/' };
  const pricing = { representativeInterest: 4.5, promotions: [] };
  await insertSeller(database.db, { ...seller, pricing });
  expect(await findCaller(database.db, await createSellerKey(database.db, seller.id))).toEqual({
    kind: 'seller',
    seller: { ...seller, sandbox: false, defaultCancelUrl: null, pricing, maxOrderAmountPence: null, rateLimit: null },
  });
});

test('a seller without pricing has no interest and no promotions', async () => {
  const id = await newSeller(database.db);
  const caller = await findCaller(database.db, await createSellerKey(database.db, id));
  expect(caller).toMatchObject({ seller: { pricing: { representativeInterest: 0, promotions: [] } } });
});

test('a checkout key identifies the checkout', async () => {
  expect(await findCaller(database.db, await createCheckoutKey(database.db))).toEqual({ kind: 'checkout' });
});

test('an unknown key, a revoked key and the key of a disabled seller identify nobody', async () => {
  const id = await newSeller(database.db);
  const [revoked, valid] = [await createSellerKey(database.db, id), await createSellerKey(database.db, id)];
  await database.db.query('update api_key set revoked_at = now() where digest = $1', [digestOf(revoked)]);
  expect(await findCaller(database.db, revoked)).toBeUndefined();
  expect(await findCaller(database.db, valid)).toBeDefined();
  expect(await findCaller(database.db, 'sk_unknown')).toBeUndefined();
  await database.db.query('update seller set disabled_at = now() where id = $1', [id]);
  expect(await findCaller(database.db, valid)).toBeUndefined();
});

test('the active webhook secrets of a seller are listed newest first, without expired ones', async () => {
  const [id, other] = [await newSeller(database.db), await newSeller(database.db)];
  for (const secret of ['old', 'expiring', 'new']) await insertWebhookSecret(database.db, NO_KEYS, id, secret);
  await insertWebhookSecret(database.db, NO_KEYS, other, 'of another seller');
  await database.db.query(`update webhook_secret set expires_at = now() - interval '1 s' where secret = 'old'`);
  await database.db.query(`update webhook_secret set expires_at = now() + interval '1 h' where secret = 'expiring'`);
  expect(await activeWebhookSecrets(database.db, NO_KEYS, id)).toEqual(['new', 'expiring']);
});

describe('static headers', () => {
  const [first, second] = ['k1', 'k2'].map((id) => ({ id, key: randomBytes(32) })) as [EncryptionKey, EncryptionKey];
  const ring = createKeyRing([first]);
  const staticHeaders = { origin: 'https://shop.example', headers: { authorization: 'Bearer of-the-gateway' } };
  const stored = async (id: string): Promise<string> =>
    (await database.db.query('select webhook_headers from seller where id = $1', [id])).rows[0].webhook_headers;

  test('are stored encrypted, and replaced by those of the next call', async () => {
    const id = await newSeller(database.db);
    expect(await findCredentials(database.db, ring, id)).toEqual({ secrets: [], staticHeaders: undefined });
    await setStaticHeaders(database.db, ring, id, { ...staticHeaders, headers: { 'x-old': 'old' } });
    await setStaticHeaders(database.db, ring, id, staticHeaders);
    expect(await stored(id)).toMatch(/^enc:k1:[\w-]+$/);
    expect(await findCredentials(database.db, ring, id)).toEqual({ secrets: [], staticHeaders });
  });

  test('of one seller cannot be decrypted as those of another, nor as its secret', async () => {
    const [id, other] = [await newSeller(database.db), await newSeller(database.db)];
    await setStaticHeaders(database.db, ring, id, staticHeaders);
    await database.db.query('update seller set webhook_headers = $2 where id = $1', [other, await stored(id)]);
    await expect(findCredentials(database.db, ring, other)).rejects.toThrow(DecryptionError);
    await insertWebhookSecret(database.db, NO_KEYS, id, await stored(id));
    await expect(findCredentials(database.db, ring, id)).rejects.toThrow(DecryptionError);
    await database.db.query('delete from webhook_secret where seller_id = $1', [id]);
    await database.db.query('update seller set webhook_headers = null');
  });

  test('are encrypted again with a new key, together with the secrets', async () => {
    const id = await newSeller(database.db);
    await database.db.query('delete from webhook_secret');
    await insertWebhookSecret(database.db, ring, id, 'secret');
    await setStaticHeaders(database.db, ring, id, staticHeaders);
    const renewed = createKeyRing([second, first]);
    expect(await encryptSecretsAgain(database.db, renewed)).toBe(2);
    expect(await countSecretsByKey(database.db)).toEqual([{ keyId: 'k2', secrets: 2 }]);
    expect(await encryptSecretsAgain(database.db, renewed)).toBe(0);
    expect(await findCredentials(database.db, createKeyRing([second]), id)).toEqual({
      secrets: ['secret'],
      staticHeaders,
    });
  });
});

test('a rotation does not wait for new orders of its seller, nor they for it', async () => {
  const { db } = database;
  const id = await newSeller(database.db);
  // As the foreign key of a new order does.
  const inserting = await holdTransaction(db, 'select from seller where id = $1 for key share', [id]);
  expect(await rotateWebhookSecret(db, NO_KEYS, id, 'new', 0)).toMatchObject({ kind: 'rotated' });
  await inserting.rollback();
  // The lock that a rotation takes.
  const rotating = await holdTransaction(db, 'select from seller where id = $1 for no key update', [id]);
  await insertOrder(db, newOrder(id), BY_SELLER);
  await rotating.rollback();
});

test('only expired webhook secrets are deleted', async () => {
  const id = await newSeller(database.db);
  for (const secret of ['ended', 'ending', 'lasting']) await insertWebhookSecret(database.db, NO_KEYS, id, secret);
  await database.db.query(`update webhook_secret set expires_at = now() where secret = 'ended'`);
  await database.db.query(`update webhook_secret set expires_at = now() + interval '1 h' where secret = 'ending'`);
  await deleteExpiredSecrets(database.db);
  const { rows } = await database.db.query('select secret from webhook_secret where seller_id = $1 order by id', [id]);
  expect(rows).toEqual([{ secret: 'ending' }, { secret: 'lasting' }]);
});
