import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { STANDARD_SCHEDULE } from '../../../src/domain/retry-schedule';
import { generateWebhookSecret, signWebhook } from '../../../src/webhooks/sign';
import { BASE } from '../../support/api';
import { openOrder } from '../../support/orders';
import { useReceiver } from '../../support/receiver';
import { useStack } from '../../support/stack';
import { until } from '../../support/until';
import { codeBlocks } from './markdown';

const blocks = codeBlocks('docs/webhooks.md');
const blockIn = (language: string): string => {
  const found = blocks.filter((block) => block.language === language);
  if (found.length !== 1) throw new Error(`docs/webhooks.md has ${found.length} blocks in ${language}`);
  return found[0]!.code;
};

const stack = useStack();
const receiver = useReceiver();
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'order-service-docs-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Programs around the code blocks: each reads secret, headers and body (base64) as JSON, and prints the webhook or fails. */
const VERIFIERS: Record<string, { command: string; file: string; program: () => string }> = {
  js: {
    command: process.execPath,
    file: 'verify.mjs',
    program: () => `${blockIn('js')}
const { secret, headers, body } = JSON.parse(process.argv[2]);
console.log(JSON.stringify(verifyWebhook(secret, headers, Buffer.from(body, 'base64'))));`,
  },
  python: {
    command: 'python3',
    file: 'verify.py',
    program: () => `${blockIn('python')}
import sys
given = json.loads(sys.argv[1])
print(json.dumps(verify_webhook(given["secret"], given["headers"], base64.b64decode(given["body"]))))`,
  },
  php: {
    command: 'php',
    file: 'verify.php',
    program: () => `<?php
${blockIn('php')}
$given = json_decode($argv[1], true);
echo json_encode(verify_webhook($given['secret'], $given['headers'], base64_decode($given['body'])));`,
  },
};

function isInstalled(command: string): boolean {
  try {
    execFileSync(command, ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

interface SignedRequest {
  secret: string;
  headers: Record<string, unknown>;
  body: string;
}

async function pendingWebhooks(): Promise<number | null> {
  return (await stack.db.query(`select from webhook_event where state = 'pending'`)).rowCount;
}

/** @returns the webhook, or undefined if the program rejects it */
function verify(language: string, { secret, headers, body }: SignedRequest): Promise<unknown> {
  const { command, file, program } = VERIFIERS[language]!;
  const script = path.join(folder, file);
  writeFileSync(script, program());
  const argument = JSON.stringify({ secret, headers, body: Buffer.from(body).toString('base64') });
  return new Promise((resolve) => {
    execFile(command, [script, argument], (error, stdout) => resolve(error ? undefined : JSON.parse(stdout)));
  });
}

const signed = (secret: string, body: string, secondsAgo = 0): SignedRequest => {
  const timestamp = Math.floor(Date.now() / 1000) - secondsAgo;
  const headers = {
    'webhook-id': 'msg_1',
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signWebhook([secret, generateWebhookSecret()], 'msg_1', timestamp, body),
  };
  return { secret, headers, body };
};

// The languages that are not installed on this machine are skipped with a message.
const [languages, missing] = [true, false].map((wanted) =>
  Object.keys(VERIFIERS).filter((language) => isInstalled(VERIFIERS[language]!.command) === wanted),
) as [string[], string[]];
if (missing.length > 0)
  process.stdout.write(`docs/webhooks.md: skipped because not installed: ${missing.join(', ')}\n`);

describe.each(languages)('the %s example', (language) => {
  test('accepts a webhook that the service sent', async () => {
    const before = receiver.deliveries.length;
    await openOrder(stack, { webhook_url: receiver.url, reference: `Zoë & Søn 🛒 ${language}` }, ['failed']);
    await until(() => receiver.deliveries.length > before, 'the webhook arrives');
    const { text, headers, body } = receiver.deliveries.at(-1)!;
    expect(await verify(language, { secret: stack.seller.webhookSecret, headers, body: text })).toEqual(body);
  });

  test('rejects a changed body, secret or id, a missing signature, and a timestamp that is too old or too new', async () => {
    const secret = generateWebhookSecret();
    const valid = signed(secret, '{"type":"webhook.test"}');
    expect(await verify(language, valid)).toEqual({ type: 'webhook.test' });
    expect(await verify(language, signed(secret, '{}', 290))).toEqual(language === 'php' ? [] : {});
    for (const invalid of [
      { ...valid, body: '{"type":"webhook.tesT"}' },
      { ...valid, secret: generateWebhookSecret() },
      { ...valid, headers: { ...valid.headers, 'webhook-id': 'msg_2' } },
      { ...valid, headers: { ...valid.headers, 'webhook-signature': '' } },
      { ...valid, headers: { ...valid.headers, 'webhook-signature': 'v1,' } },
      signed(secret, '{}', 310),
      signed(secret, '{}', -310),
    ]) {
      expect(await verify(language, invalid)).toBeUndefined();
    }
  });
});

test('Node is always among the tested languages', () => expect(languages).toContain('js'));

test('every curl command works unchanged', async () => {
  const lines = blocks.filter(({ language }) => language === 'sh').map(({ code }) => code);
  expect(lines).toHaveLength(3);
  const env = {
    PATH: process.env.PATH,
    API: stack.api.url + BASE,
    SELLER_ID: stack.seller.id,
    SELLER_API_KEY: stack.seller.key,
  };
  const run = (script: string): Promise<any> =>
    new Promise((resolve) => {
      execFile('sh', ['-c', script.replace('http://127.0.0.1:4000/', receiver.url)], { env }, (_error, stdout) =>
        resolve(JSON.parse(stdout)),
      );
    });
  await until(async () => (await pendingWebhooks()) === 0, 'every attempt is recorded');
  const [list, sent, rotated] = [await run(lines[0]!), await run(lines[1]!), await run(lines[2]!)];
  expect(list.data).toMatchObject([{ state: 'delivered' }]);
  expect(sent.data).toMatchObject({ delivered: true, status: 200 });
  expect(rotated.data.webhook_secret).toMatch(/^whsec_/);
});

test('the page documents the default schedule', () => {
  const { delaysMs, attemptsWithSuccessor, jitter } = STANDARD_SCHEDULE;
  expect(delaysMs.map((ms) => ms / 1000)).toEqual([0, 5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400]);
  expect([attemptsWithSuccessor, jitter]).toEqual([5, 0.1]);
});
