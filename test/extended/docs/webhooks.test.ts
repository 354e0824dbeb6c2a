import { execFile } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { RETRY_JITTER, STANDARD_SCHEDULE } from '../../../src/domain/webhook';
import { generateWebhookSecret, signWebhook } from '../../../src/webhooks/sign';
import { PACKAGE_ROOT } from '../../../src/package';
import { useFolder } from '../../support/folder';
import { installed } from '../../support/installed';
import { openOrder } from '../../support/orders';
import { useReceiver } from '../../support/receiver';
import { useSharedStack } from '../../support/shared-stack';
import { until } from '../../support/until';

const exampleCode = (file: string): string => readFileSync(path.join(PACKAGE_ROOT, 'examples', file), 'utf8');

const stack = useSharedStack();
const receiver = useReceiver();
const folder = useFolder();

interface SignedRequest {
  secret: string;
  headers: Record<string, unknown>;
  body: string;
}

/** Headers as the servers of typed languages have them: names with each of their values. */
const valuesOf = ({ headers }: SignedRequest): [name: string, value: string][] =>
  Object.entries(headers).flatMap(([name, values]) =>
    [values].flat().flatMap((value): [string, string][] => (typeof value === 'string' ? [[name, value]] : [])),
  );

/** For a language that has no JSON parser. */
const toBase64Fields = (request: SignedRequest): string => {
  const [secret, ...headers] = [request.secret, ...valuesOf(request).flat()].map((text) =>
    Buffer.from(text).toString('base64'),
  );
  return [secret, request.body, ...headers].join(' ');
};

/** A program around one of the functions. */
interface Verifier {
  /** Its files, by name. */
  files: () => Record<string, string>;
  build?: [command: string, ...args: string[]];
  run: [command: string, ...args: string[]];
  /** Its arguments, for requests with bodies in base64. Default: JSON. */
  encode?: (requests: readonly SignedRequest[]) => string[];
}

/**
 * Programs around the functions that the page links to: each prints the webhooks, or which of the documented errors it
 * got. It crashes at any other error.
 */
const VERIFIERS: Record<string, Verifier> = {
  js: {
    run: [process.execPath, 'verify.mjs'],
    files: () => ({
      'verify.mjs': `${exampleCode('verify-webhook.mjs')}
console.log(JSON.stringify(JSON.parse(process.argv[2]).map(({ secret, headers, body }) => {
  try {
    return verifyWebhook(secret, headers, Buffer.from(body, 'base64'));
  } catch (error) {
    if (error instanceof WebhookVerificationError) return 'invalid webhook';
    if (error instanceof TypeError && /webhook secret/.test(error.message)) return 'invalid secret';
    throw error;
  }
})));`,
    }),
  },
  python: {
    run: ['python3', 'verify.py'],
    files: () => ({
      'verify.py': `${exampleCode('python/verify_webhook.py')}
import sys
def verified(given):
    try:
        return verify_webhook(given["secret"], given["headers"], base64.b64decode(given["body"]))
    except WebhookVerificationError:
        return "invalid webhook"
    except ValueError:
        return "invalid secret"
print(json.dumps([verified(given) for given in json.loads(sys.argv[1])]))`,
    }),
  },
  php: {
    run: ['php', 'verify.php'],
    files: () => ({
      'verify.php': `${exampleCode('php/verify_webhook.php')}
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
    }),
  },
  java: {
    build: ['javac', 'Main.java', 'VerifyWebhook.java'],
    run: ['java', '-cp', '.', 'Main'],
    encode: (requests) => requests.map(toBase64Fields),
    files: () => ({
      'VerifyWebhook.java': exampleCode('java/VerifyWebhook.java'),
      'Main.java': `import java.util.*;
class Main {
    public static void main(String[] requests) throws Exception {
        List<String> results = new ArrayList<>();
        for (String request : requests) results.add(verified(request.split(" ", -1)));
        System.out.print(results);
    }
    static String verified(String[] fields) throws Exception {
        Map<String, List<String>> headers = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
        for (int i = 2; i < fields.length; i += 2)
            headers.computeIfAbsent(text(fields[i]), name -> new ArrayList<>()).add(text(fields[i + 1]));
        try {
            VerifyWebhook.verifyWebhook(text(fields[0]), headers::get, Base64.getDecoder().decode(fields[1]));
            return text(fields[1]);
        } catch (VerifyWebhook.WebhookVerificationException error) {
            return "\\"invalid webhook\\"";
        } catch (IllegalArgumentException error) {
            return "\\"invalid secret\\"";
        }
    }
    static String text(String field) {
        return new String(Base64.getDecoder().decode(field), java.nio.charset.StandardCharsets.UTF_8);
    }
}`,
    }),
  },
  go: {
    build: ['go', 'build', '-o', 'verify', 'main.go', 'verify_webhook.go'],
    run: ['./verify'],
    files: () => ({
      'verify_webhook.go': exampleCode('go/verify_webhook.go').replace('package webhooks', 'package main'),
      'main.go': `package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
)

func main() {
	var requests []struct {
		Secret  string
		Headers [][2]string
		Body    []byte
	}
	if err := json.Unmarshal([]byte(os.Args[1]), &requests); err != nil {
		panic(err)
	}
	results := []json.RawMessage{}
	for _, request := range requests {
		headers := http.Header{}
		for _, header := range request.Headers {
			headers.Add(header[0], header[1])
		}
		result := json.RawMessage(request.Body)
		switch err := VerifyWebhook(request.Secret, headers, request.Body); err {
		case nil:
		case ErrInvalidWebhook:
			result = json.RawMessage(\`"invalid webhook"\`)
		case ErrInvalidSecret:
			result = json.RawMessage(\`"invalid secret"\`)
		default:
			panic(err)
		}
		results = append(results, result)
	}
	text, _ := json.Marshal(results)
	fmt.Print(string(text))
}
`,
    }),
    encode: (requests) => [JSON.stringify(requests.map((request) => ({ ...request, headers: valuesOf(request) })))],
  },
};

const inFolder = async (language: string, [command, ...args]: readonly [string, ...string[]]): Promise<string> =>
  (await promisify(execFile)(command, args, { cwd: path.join(folder, language) })).stdout;

async function build(language: string): Promise<void> {
  const { files, build: command } = VERIFIERS[language]!;
  mkdirSync(path.join(folder, language));
  for (const [name, text] of Object.entries(files())) writeFileSync(path.join(folder, language, name), text);
  if (command) await inFolder(language, command);
}

/** Returns for each request the webhook or the documented error. */
async function verify(language: string, requests: readonly SignedRequest[]): Promise<unknown[]> {
  const { run, encode = (given) => [JSON.stringify(given)] } = VERIFIERS[language]!;
  const given = requests.map((request) => ({ ...request, body: Buffer.from(request.body).toString('base64') }));
  return JSON.parse(await inFolder(language, [...run, ...encode(given)])) as unknown[];
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

const languages = installed(Object.keys(VERIFIERS), (language) => {
  const { build: [command] = [], run } = VERIFIERS[language]!;
  return language === 'go' ? ['go', 'version'] : [command ?? run[0], '--version'];
});

describe.each(languages)('the %s example', (language) => {
  beforeAll(() => build(language));

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

  test('gives the documented error for each invalid webhook', async () => {
    const valid = signed(secret, TEST);
    const withHeaders = (changes: Record<string, unknown>) => ({ ...valid, headers: { ...valid.headers, ...changes } });
    const signature = valid.headers['webhook-signature'];
    const invalid: Record<string, SignedRequest> = {
      'the body was changed': { ...valid, body: '{"type":"webhook.tesT"}' },
      'the secret is a different one': { ...valid, secret: generateWebhookSecret() },
      'the id was changed': withHeaders({ 'webhook-id': 'msg_2' }),
      'the signature is empty': withHeaders({ 'webhook-signature': '' }),
      'the signature has only a version': withHeaders({ 'webhook-signature': 'v1,' }),
      'the timestamp is too old': signed(secret, TEST, 360),
      'the timestamp is too new': signed(secret, TEST, -360),
      'the timestamp is not a number': withHeaders({ 'webhook-timestamp': 'now' }),
      'the timestamp has thousands of digits': withHeaders({ 'webhook-timestamp': '9'.repeat(5000) }),
      'a header is missing': withHeaders({ 'webhook-id': undefined }),
      'every header is missing': { ...valid, headers: { host: 'shop.example' } },
      'a header is null': withHeaders({ 'webhook-signature': null }),
      'a header is repeated, as a list': withHeaders({ 'webhook-signature': [signature, signature] }),
      'a header is repeated, as one text': withHeaders({ 'webhook-signature': `${signature}, ${signature}` }),
      'a header is repeated in another case': withHeaders({ 'Webhook-Signature': signature }),
      'a header is not ASCII': withHeaders({ 'webhook-signature': `${signature} v1,é` }),
      'the digits of the timestamp are not ASCII': withHeaders({ 'webhook-timestamp': '１７９５２５１６００' }),
    };
    // One program for all: most of its time is its start.
    const found = await verify(language, [...Object.values(invalid), valid]);
    const names = Object.keys(invalid);
    expect(Object.fromEntries(names.map((name, index) => [name, found[index]]))).toEqual(
      Object.fromEntries(names.map((name) => [name, 'invalid webhook'])),
    );
    // Only what is wrong with a request was the reason: its time was not.
    expect(found.at(-1)).toEqual({ type: 'webhook.test' });
  });

  test('gives the documented error for an empty or malformed secret, with which anyone could sign', async () => {
    const [short, valid] = [Buffer.alloc(23), signed(secret, TEST)];
    const secrets = ['', 'whsec_', 'whsec_***', `whsec_${short.toString('base64')}`, secret.slice(0, -2), 'secret'];
    const forged = secrets.flatMap((given) =>
      ['', short].map((key) => {
        const headers = { ...valid.headers, 'webhook-signature': forge(key, valid) };
        return { ...valid, headers, secret: given };
      }),
    );
    expect(await verify(language, forged)).toEqual(forged.map(() => 'invalid secret'));
  });
});

test('Node is always among the tested languages', () => expect(languages).toContain('js'));

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
