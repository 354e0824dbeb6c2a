import { execFile } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { RETRY_JITTER, STANDARD_SCHEDULE } from '../../../src/domain/retry-schedule';
import { generateWebhookSecret, signWebhook } from '../../../src/webhooks/sign';
import { PACKAGE_ROOT } from '../../../src/package';
import { BASE } from '../../support/api';
import { installed } from '../../support/installed';
import { openOrder } from '../../support/orders';
import { useReceiver } from '../../support/receiver';
import { useStack } from '../../support/stack';
import { until } from '../../support/until';
import { codeBlocks } from './markdown-blocks';

const exampleCode = (file: string): string => readFileSync(path.join(PACKAGE_ROOT, 'examples', file), 'utf8');

const stack = useStack();
const receiver = useReceiver();
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'order-service-docs-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

/**
 * Programs around the functions that the page links to: each reads secrets, headers and bodies (base64) as JSON, and prints the webhooks, or
 * which of the documented errors it got. It crashes at any other error.
 */
const VERIFIERS: Record<string, { command: string; file: string; program: () => string }> = {
  js: {
    command: process.execPath,
    file: 'verify.mjs',
    program: () => `${exampleCode('verify-webhook.mjs')}
console.log(JSON.stringify(JSON.parse(process.argv[2]).map(({ secret, headers, body }) => {
  try {
    return verifyWebhook(secret, headers, Buffer.from(body, 'base64'));
  } catch (error) {
    if (error instanceof WebhookVerificationError) return 'invalid webhook';
    if (error instanceof TypeError && /webhook secret/.test(error.message)) return 'invalid secret';
    throw error;
  }
})));`,
  },
  python: {
    command: 'python3',
    file: 'verify.py',
    program: () => `${exampleCode('python/verify_webhook.py')}
import sys
def verified(given):
    try:
        return verify_webhook(given["secret"], given["headers"], base64.b64decode(given["body"]))
    except WebhookVerificationError:
        return "invalid webhook"
    except ValueError:
        return "invalid secret"
print(json.dumps([verified(given) for given in json.loads(sys.argv[1])]))`,
  },
  php: {
    command: 'php',
    file: 'verify.php',
    program: () => `${exampleCode('php/verify_webhook.php')}
set_error_handler(fn ($level, $message) => throw new Error($message));
echo json_encode(array_map(function ($given) {
    try {
        return verify_webhook($given['secret'], $given['headers'], base64_decode($given['body']));
    } catch (UnexpectedValueException $error) {
        return 'invalid webhook';
    } catch (InvalidArgumentException $error) {
        return 'invalid secret';
    }
}, json_decode($argv[1], true)));`,
  },
};

interface SignedRequest {
  secret: string;
  headers: Record<string, unknown>;
  body: string;
}

async function pendingWebhooks(): Promise<number | null> {
  return (await stack.db.query(`select from webhook_event where state = 'pending'`)).rowCount;
}

/** Returns for each request the webhook or the documented error. */
async function verify(language: string, requests: readonly SignedRequest[]): Promise<unknown[]> {
  const { command, file, program } = VERIFIERS[language]!;
  const script = path.join(folder, file);
  writeFileSync(script, program());
  const given = requests.map((request) => ({ ...request, body: Buffer.from(request.body).toString('base64') }));
  const { stdout } = await promisify(execFile)(command, [script, JSON.stringify(given)]);
  return JSON.parse(stdout) as unknown[];
}

const secret = generateWebhookSecret();
const TEST = '{"type":"webhook.test"}';

const signed = (secret: string, body: string, secondsAgo = 0) => {
  const timestamp = Math.floor(Date.now() / 1000) - secondsAgo;
  const headers = {
    'webhook-id': 'msg_1',
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signWebhook([secret, generateWebhookSecret()], 'msg_1', timestamp, body),
  };
  return { secret, headers, body };
};

/** The signature by someone who has no secret, only a guess of the key. */
function forge(key: string | Buffer, { headers, body }: SignedRequest): string {
  const text = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${body}`;
  return `v1,${createHmac('sha256', key).update(text).digest('base64')}`;
}

const languages = installed(Object.keys(VERIFIERS), (language) => [VERIFIERS[language]!.command, '--version']);

describe.each(languages)('the %s example', (language) => {
  test('accepts a webhook that the service sent', async () => {
    const before = receiver.deliveries.length;
    await openOrder(stack, { webhook_url: receiver.url, reference: `Zoë & Søn 🛒 ${language}` }, ['failed']);
    await until(() => receiver.deliveries.length > before, 'the webhook arrives');
    const { text, headers, body } = receiver.deliveries.at(-1)!;
    expect(await verify(language, [{ secret: stack.seller.webhookSecret, headers, body: text }])).toEqual([body]);
  });

  test('accepts header names in any case, and a timestamp within five minutes', async () => {
    const { headers, ...request } = signed(secret, TEST);
    const upper = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]));
    const requests = [{ ...request, headers: upper }, signed(secret, TEST, 240), signed(secret, TEST, -240)];
    expect(await verify(language, requests)).toEqual(requests.map(() => ({ type: 'webhook.test' })));
  });

  // Not older than its test, so that only what is wrong with a request is the reason.
  let valid: ReturnType<typeof signed>;
  beforeEach(() => {
    valid = signed(secret, TEST);
  });
  const withHeaders = (changes: Record<string, unknown>) => ({ ...valid, headers: { ...valid.headers, ...changes } });
  const signature = () => valid.headers['webhook-signature'];
  test.each<[reason: string, request: () => SignedRequest]>([
    ['the body was changed', () => ({ ...valid, body: '{"type":"webhook.tesT"}' })],
    ['the secret is a different one', () => ({ ...valid, secret: generateWebhookSecret() })],
    ['the id was changed', () => withHeaders({ 'webhook-id': 'msg_2' })],
    ['the signature is empty', () => withHeaders({ 'webhook-signature': '' })],
    ['the signature has only a version', () => withHeaders({ 'webhook-signature': 'v1,' })],
    ['the timestamp is too old', () => signed(secret, TEST, 360)],
    ['the timestamp is too new', () => signed(secret, TEST, -360)],
    ['the timestamp is not a number', () => withHeaders({ 'webhook-timestamp': 'now' })],
    ['the timestamp has thousands of digits', () => withHeaders({ 'webhook-timestamp': '9'.repeat(5000) })],
    ['a header is missing', () => withHeaders({ 'webhook-id': undefined })],
    ['every header is missing', () => ({ ...valid, headers: { host: 'shop.example' } })],
    ['a header is null', () => withHeaders({ 'webhook-signature': null })],
    ['a header is repeated, as a list', () => withHeaders({ 'webhook-signature': [signature(), signature()] })],
    ['a header is repeated, as one text', () => withHeaders({ 'webhook-signature': `${signature()}, ${signature()}` })],
    ['a header is repeated in another case', () => withHeaders({ 'Webhook-Signature': signature() })],
    ['a header is not ASCII', () => withHeaders({ 'webhook-signature': `${signature()} v1,é` })],
    ['the digits of the timestamp are not ASCII', () => withHeaders({ 'webhook-timestamp': '１７９５２５１６００' })],
  ])('gives the documented error for an invalid webhook if %s', async (_reason, request) => {
    expect(await verify(language, [request()])).toEqual(['invalid webhook']);
  });

  test('gives the documented error for an empty or malformed secret, with which anyone could sign', async () => {
    const short = Buffer.alloc(23);
    const secrets = ['', 'whsec_', 'whsec_***', `whsec_${short.toString('base64')}`, secret.slice(0, -2), 'secret'];
    const forged = secrets.flatMap((given) =>
      ['', short].map((key) => ({ ...withHeaders({ 'webhook-signature': forge(key, valid) }), secret: given })),
    );
    expect(await verify(language, forged)).toEqual(forged.map(() => 'invalid secret'));
  });
});

test('Node is always among the tested languages', () => expect(languages).toContain('js'));

test('every curl command of docs/sellers/webhooks.md works unchanged', async () => {
  const lines = codeBlocks('docs/sellers/webhooks.md')
    .filter(({ language }) => language === 'sh')
    .map(({ code }) => code);
  expect(lines).toHaveLength(4);
  const env = {
    PATH: process.env.PATH,
    API: stack.api.url + BASE,
    SELLER_ID: stack.seller.id,
    SELLER_API_KEY: stack.seller.key,
  };
  const { origin } = new URL(receiver.url);
  const run = (script: string): Promise<any> =>
    new Promise((resolve) => {
      const inTest = script.replace('http://127.0.0.1:4000/', receiver.url).replace('http://127.0.0.1:4000', origin);
      execFile('sh', ['-c', inTest], { env }, (_error, stdout) => resolve(JSON.parse(stdout)));
    });
  await until(async () => (await pendingWebhooks()) === 0, 'every attempt is recorded');
  const answers: any[] = [];
  for (const line of lines) answers.push(await run(line));
  const [list, sent, headers, rotated] = answers;
  expect(list.data).toMatchObject([{ state: 'delivered' }]);
  expect(sent.data).toMatchObject({ delivered: true, status: 200 });
  expect(headers.data.names).toEqual(['authorization']);
  expect(rotated.data.webhook_secret).toMatch(/^whsec_/);
});

test('docs/sellers/webhooks.md states the default schedule', () => {
  const text = readFileSync(path.join(PACKAGE_ROOT, 'docs/sellers/webhooks.md'), 'utf8').replaceAll('\n', ' ');
  const [, list = '', jitter] =
    /immediately, then after (.+?)\. Each delay varies randomly by ±(\d+) %/.exec(text) ?? [];
  const seconds = { s: 1, min: 60, h: 3600 };
  const delays = [...list.matchAll(/(\d+) (s|min|h)\b/g)].map(([, n, unit]) => Number(n) * seconds[unit as 's']);
  expect([0, ...delays]).toEqual(STANDARD_SCHEDULE.delaysMs.map((ms) => ms / 1000));
  expect(Number(jitter) / 100).toBe(RETRY_JITTER);
  expect(text).toContain('A webhook has ten attempts over three days');
  expect(STANDARD_SCHEDULE.delaysMs).toHaveLength(10);
  expect(text).toContain('the failing one has only five attempts');
  expect(STANDARD_SCHEDULE.attemptsWithSuccessor).toBe(5);
});
