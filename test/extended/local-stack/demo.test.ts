import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { revokeKey } from '../../../src/db/api-keys';
import { findCredentials, rotateWebhookSecret } from '../../../src/db/secrets';
import { demoSeller, writeEnv } from '../../../tools/local-stack/demo';
import { generateWebhookSecret } from '../../../src/webhooks/sign';
import { useFolder } from '../../support/folder';
import { NO_KEYS } from '../../support/keys';
import { useDatabase } from '../../support/database';

const database = useDatabase();
const folder = useFolder();
const envFile = path.join(folder, 'demo.env');

/** The part of `npm start` that prepares the demo seller and writes the env file. */
async function start() {
  const access = await demoSeller(database.db, NO_KEYS, envFile, 'http://127.0.0.1:8088');
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
    await rotateWebhookSecret(db, NO_KEYS, seller, secret, overlapMs);
    expect(await start()).toEqual({ SELLER_ID: seller, ...before, WEBHOOK_SECRET: secret });
    expect((await findCredentials(db, NO_KEYS, seller)).secrets[0]).toBe(secret);
  }
});

test('a start creates a new seller if a key is revoked', async () => {
  const { db } = database;
  const before = await start();
  const { rows } = await db.query<{ id: string }>('select id from api_key where seller_id = $1', [before.SELLER_ID]);
  await revokeKey(db, Number(rows[0]!.id), 'seller');
  const { SELLER_ID, WEBHOOK_SECRET } = await start();
  expect(SELLER_ID).not.toBe(before.SELLER_ID);
  expect((await findCredentials(db, NO_KEYS, SELLER_ID)).secrets).toEqual([WEBHOOK_SECRET]);
});

test('sh and node --env-file read the same values from the file', async () => {
  const values = {
    SPACES: ' a  b ',
    EXPANSIONS: '$HOME ${HOME} $(id) `id` ~ *',
    SPECIAL: 'a"b\\n\\c#d;e&f|g<h>i!j=k%l',
    EMPTY: '',
    DATABASE_URL: "postgres://o'hara:it's@127.0.0.1/orders?a=1&b=2",
  };
  const file = path.join(folder, 'values.env');
  await writeEnv(file, values);
  const print = `console.log(JSON.stringify(${JSON.stringify(Object.keys(values))}.map((name) => process.env[name])))`;
  const read = (command: string, args: string[]): unknown =>
    JSON.parse(execFileSync(command, args, { env: { PATH: process.env.PATH }, encoding: 'utf8' }));
  const expected = Object.values({ ...values, DATABASE_URL: values.DATABASE_URL.replaceAll("'", '%27') });
  expect(read(process.execPath, [`--env-file=${file}`, '-e', print])).toEqual(expected);
  const script = `set -eua; . "$0"; "$1" -e "$2"`;
  expect(read('sh', ['-c', script, file, process.execPath, print])).toEqual(expected);
});
