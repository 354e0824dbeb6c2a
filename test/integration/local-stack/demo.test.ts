import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { revokeKey } from '../../../src/db/api-keys';
import { liveWebhookSecrets, rotateWebhookSecret } from '../../../src/db/sellers';
import { demoSeller, writeEnv } from '../../../tools/local-stack/demo';
import { generateWebhookSecret } from '../../../src/webhooks/sign';
import { useDatabase } from '../../support/database';

const database = useDatabase();
let folder: string;
let envFile: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'order-service-demo-'));
  envFile = path.join(folder, 'demo.env');
});
afterAll(() => rmSync(folder, { recursive: true }));

/** The part of `npm start` that prepares the demo seller and writes the env file. */
async function start() {
  const access = await demoSeller(database.db, envFile);
  await writeEnv(envFile, { ORDERS_URL: 'http://127.0.0.1:3000', ...access });
  return access;
}

test('each start uses the same demo seller', async () => {
  expect(await start()).toEqual(await start());
});

test('a start after a rotation writes the webhook secret that signs now', async () => {
  const { db } = database;
  const { SELLER_ID: seller, ...before } = await start();
  for (const overlapMs of [86_400_000, 0]) {
    const secret = generateWebhookSecret();
    await rotateWebhookSecret(db, seller, secret, overlapMs);
    expect(await start()).toEqual({ SELLER_ID: seller, ...before, WEBHOOK_SECRET: secret });
    expect((await liveWebhookSecrets(db, seller))[0]).toBe(secret);
  }
});

test('a start creates a new seller if a key is revoked', async () => {
  const { db } = database;
  const before = await start();
  const { rows } = await db.query<{ id: string }>('select id from api_key where seller_id = $1', [before.SELLER_ID]);
  await revokeKey(db, Number(rows[0]!.id), 'seller');
  const { SELLER_ID, WEBHOOK_SECRET } = await start();
  expect(SELLER_ID).not.toBe(before.SELLER_ID);
  expect(await liveWebhookSecrets(db, SELLER_ID)).toEqual([WEBHOOK_SECRET]);
});
