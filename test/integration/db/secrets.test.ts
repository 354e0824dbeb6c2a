import { randomBytes } from 'node:crypto';
import {
  countSecretsByKey,
  encryptSecretsAgain,
  findCredentials,
  insertWebhookSecret,
  rotateWebhookSecret,
  setStaticHeaders,
} from '../../../src/db/secrets';
import { deleteOldData } from '../../../src/db/old-data';
import { oldDataOf } from '../../../src/db/retention';
import { insertOrder } from '../../../src/db/orders';
import { DecryptionError, type EncryptionKey, createKeyRing } from '../../../src/encryption/key-ring';
import { NO_KEYS } from '../../support/keys';
import { holdTransaction, useDatabase } from '../../support/database';
import { newOrder, newSeller } from '../../support/new-orders';

const database = useDatabase();

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
  await insertOrder(db, newOrder(id));
  await rotating.rollback();
});

test('only expired webhook secrets are deleted', async () => {
  const id = await newSeller(database.db);
  for (const secret of ['ended', 'ending', 'lasting']) await insertWebhookSecret(database.db, NO_KEYS, id, secret);
  await database.db.query(`update webhook_secret set expires_at = now() where secret = 'ended'`);
  await database.db.query(`update webhook_secret set expires_at = now() + interval '1 h' where secret = 'ending'`);
  const secrets = oldDataOf({ webhookDays: 90, sandboxDays: 30 }).find(({ name }) => name === 'webhook_secrets')!;
  expect(await deleteOldData(database.db, secrets, 10)).toMatchObject({ deleted: 1 });
  const { rows } = await database.db.query('select secret from webhook_secret where seller_id = $1 order by id', [id]);
  expect(rows).toEqual([{ secret: 'ending' }, { secret: 'lasting' }]);
});
