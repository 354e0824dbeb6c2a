import { createHash, randomUUID } from 'node:crypto';
import type { Db } from '../../../src/db/pool';
import {
  createCheckoutKey,
  createSellerKey,
  findCaller,
  insertSeller,
  insertWebhookSecret,
  liveWebhookSecrets,
} from '../../../src/db/sellers';
import { type TestDatabase, createDatabase } from '../../support/database';
import { newSeller } from './new-orders';

let database: TestDatabase;
let db: Db;
beforeAll(async () => {
  database = await createDatabase();
  db = database.db;
});
afterAll(() => database.drop());

const digestOf = (key: string) => createHash('sha256').update(key).digest();

test('a key is prefixed by its kind, holds 256 random bits, and is another one each time', async () => {
  const id = await newSeller(db);
  const keys = [await createSellerKey(db, id), await createSellerKey(db, id)];
  for (const key of keys) expect(key).toMatch(/^sk_[\w-]{43}$/);
  expect(keys[0]).not.toBe(keys[1]);
  expect(await createCheckoutKey(db)).toMatch(/^ck_[\w-]{43}$/);
});

test('of a key only the digest is stored', async () => {
  const key = await createSellerKey(db, await newSeller(db));
  const { rows } = await db.query('select k::text as row, digest from api_key k where digest = $1', [digestOf(key)]);
  expect(rows).toHaveLength(1);
  expect(rows[0].row).not.toContain(key.slice(3));
});

test('a seller’s key stands for that seller, with its account', async () => {
  const seller = { id: randomUUID(), name: 'Shop', defaultRedirectUrl: 'https://shop.example/' };
  const pricing = { representativeInterest: 4.5, promotions: [] };
  await insertSeller(db, { ...seller, pricing });
  expect(await findCaller(db, await createSellerKey(db, seller.id))).toEqual({
    kind: 'seller',
    seller: { ...seller, pricing, maxAmountPence: null, rateLimit: null },
  });
});

test('a seller without pricing has none to offer', async () => {
  const id = await newSeller(db);
  const caller = await findCaller(db, await createSellerKey(db, id));
  expect(caller).toMatchObject({ seller: { pricing: { representativeInterest: 0, promotions: [] } } });
});

test('a checkout’s key stands for no seller', async () => {
  expect(await findCaller(db, await createCheckoutKey(db))).toEqual({ kind: 'checkout' });
});

test('a key that is unknown, revoked or of a disabled seller stands for nobody', async () => {
  const id = await newSeller(db);
  const [revoked, live] = [await createSellerKey(db, id), await createSellerKey(db, id)];
  await db.query('update api_key set revoked_at = now() where digest = $1', [digestOf(revoked)]);
  expect(await findCaller(db, revoked)).toBeUndefined();
  expect(await findCaller(db, live)).toBeDefined();
  expect(await findCaller(db, 'sk_unknown')).toBeUndefined();
  await db.query('update seller set disabled_at = now() where id = $1', [id]);
  expect(await findCaller(db, live)).toBeUndefined();
});

test('live webhook secrets sign, the newest first; expired and other sellers’ ones do not', async () => {
  const [id, other] = [await newSeller(db), await newSeller(db)];
  for (const secret of ['old', 'expiring', 'new']) await insertWebhookSecret(db, id, secret);
  await insertWebhookSecret(db, other, 'theirs');
  await db.query(`update webhook_secret set expires_at = now() - interval '1 s' where secret = 'old'`);
  await db.query(`update webhook_secret set expires_at = now() + interval '1 h' where secret = 'expiring'`);
  expect(await liveWebhookSecrets(db, id)).toEqual(['new', 'expiring']);
});
