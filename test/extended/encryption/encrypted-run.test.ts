import path from 'node:path';
import { randomBytes } from 'node:crypto';
import { readFile, readdir } from 'node:fs/promises';
import { temporal } from '@temporalio/proto';
import { verifyWebhook } from '../../../packages/client/src/verify-webhook';
import { loadCodecServerConfig } from '../../../src/config';
import { startCodecServer } from '../../../src/codec-server';
import { parseKeys } from '../../../src/encryption/key-ring';
import { createLogger } from '../../../src/logger';
import { createTemporalClient } from '../../../src/temporal/connection';
import { payloadCodecs } from '../../../src/temporal/payload-codec';
import { cancelSignal } from '../../../workflows/messages';
import { expectError, runCli } from '../../support/cli';
import { constants } from '../../support/constants';
import { openOrder, restoreApproved, timelineOf } from '../../support/orders';
import { useReceiver } from '../../support/receiver';
import { useSharedStack } from '../../support/shared-stack';
import { type SharedStack, useStack } from '../../support/stack';
import { until } from '../../support/until';
import { useResource } from '../../support/use-resource';

const KEY = `k1:${randomBytes(32).toString('base64')}`;
const stack = useStack({
  sandbox: true,
  env: {
    ENCRYPTION_KEYS: KEY,
    ENCRYPT_PAYLOADS: 'true',
    HOSTED_CHECKOUT: 'true',
    ...constants({ readBudgetMs: 10_000 }),
  },
});
const plain = useSharedStack();
const receiver = useReceiver();
const codecServerLog: string[] = [];
const codecServer = useResource(
  () =>
    startCodecServer(
      loadCodecServerConfig({
        ENCRYPTION_KEYS: KEY,
        CODEC_SERVER_PORT: '0',
        CODEC_SERVER_ORIGIN: 'https://temporal.example/ui',
      }),
      createLogger('warn', 'codec-server', { write: (line) => void codecServerLog.push(line) }),
    ),
  (server) => server.stop(),
);

/** The files of the Temporal server, which hold its histories and its search index. */
async function temporalFiles(): Promise<Buffer> {
  const folder = path.join(process.env.TEST_DATA_DIR!, 'temporal');
  const names = (await readdir(folder, { recursive: true })).filter((name) => name.includes('temporal.db'));
  return Buffer.concat(await Promise.all(names.map((name) => readFile(path.join(folder, name)))));
}

/** An order that was resumed and completed, with its webhooks. Returns what could be searched for. */
async function wholeOrder(service: SharedStack, amountPence: number) {
  const [name, reference] = ['Shop', 'basket'].map((word) => `${word} ${randomBytes(6).toString('hex')}`);
  await service.db.query('update seller set name = $2 where id = $1', [service.seller.id, name]);
  const amount = amountPence / 100;
  const id = await openOrder(service, { amount, reference, webhook_url: receiver.url }, ['signup_started', 'approved']);
  await service.client.workflow.getHandle(`order-${id}`).terminate('a test');
  expect((await service.api.progress(id, 'completed')).status).toBe(200);
  const sent = () => receiver.deliveries.filter(({ body }) => body.data.order.id === id);
  await until(() => sent().length === 3, 'the webhooks are delivered');
  await service.client.workflow.getHandle(`order-${id}`).result();
  const pounds = amount.toLocaleString('en-GB', { minimumFractionDigits: 2 });
  return { id, facts: [name!, reference!, pounds], delivery: sent()[0]! };
}

const decode = (body: object, headers: Record<string, string> = {}) =>
  fetch(`http://127.0.0.1:${codecServer.port}/decode`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-Namespace': 'default', ...headers },
    body: JSON.stringify(body),
  });

test('Temporal stores no amount, reference or name of an encrypted order in clear', async () => {
  const encrypted = await wholeOrder(stack, 765_432_109);
  const clear = await wholeOrder(plain, 865_432_107);
  const files = await temporalFiles();
  expect(encrypted.facts.filter((fact) => files.includes(fact))).toEqual([]);
  expect(clear.facts.filter((fact) => !files.includes(fact))).toEqual([]);
});

test('the codec server decrypts a history for the UI', async () => {
  const { id } = await wholeOrder(stack, 123_456);
  const withoutKeys = createTemporalClient(stack.temporal);
  const { events } = await withoutKeys.workflow.getHandle(`order-${id}`).fetchHistory();
  await withoutKeys.connection.close();
  const result = events?.at(-1)?.workflowExecutionCompletedEventAttributes?.result;
  const response = await decode(temporal.api.common.v1.Payloads.fromObject(result!).toJSON());
  expect(response.status).toBe(200);
  expect(response.headers.get('Access-Control-Allow-Origin')).toBe('https://temporal.example');
  const { payloads } = (await response.json()) as { payloads: { data: string }[] };
  expect(JSON.parse(Buffer.from(payloads[0]!.data, 'base64').toString())).toMatchObject({
    status: 'SUCCESSFUL',
    changes: [{ event: 'created' }, { event: 'signup_started' }, { event: 'approved' }, { event: 'completed' }],
  });
});

test('a GET reads a state that the row of a restored backup lacks from the encrypted history', async () => {
  const id = await openOrder(stack, {}, ['signup_started', 'approved', 'completed']);
  await restoreApproved(stack, id);
  const { headers, body } = await stack.api.get(id);
  expect([headers.get('Order-Source'), body.data.status]).toEqual(['workflow', 'SUCCESSFUL']);
});

test('the codec server refuses a compressed body', async () => {
  expect((await decode({ payloads: [] }, { 'Content-Encoding': 'br' })).status).toBe(415);
});

test('secrets are encrypted in Postgres, sign as before, and can be encrypted with a new key', async () => {
  const { delivery } = await wholeOrder(stack, 4321);
  expect(() => verifyWebhook(delivery.text, delivery.headers, stack.seller.webhookSecret)).not.toThrow();
  const id = await openOrder(stack);
  const { pay_link_id: payLinkId } = (await stack.api.get(id)).body.data;
  expect((await fetch(`${stack.api.url}/pay/${payLinkId}/`)).status).toBe(200);
  const { rows } = await stack.db.query<{ secret: string }>(
    'select secret from webhook_secret union all select secret from service_secret',
  );
  expect(rows.map(({ secret }) => secret.split(':')[1])).toEqual(['k1', 'k1']);

  const { stdout } = await runCli(['encryption', 'new-key']);
  const env = { ...stack.env, ENCRYPTION_KEYS: `${stdout.trim()},${KEY}` };
  const newId = stdout.split(':')[0];
  const rotated = await runCli(['encryption', 'rotate', '--json'], env);
  expect(rotated.json()).toEqual({ key: newId, encrypted: 2 });
  expectError(
    await runCli(['encryption', 'rotate'], { ...stack.env, ENCRYPTION_KEYS: '' }),
    1,
    /ENCRYPTION_KEYS is missing/,
  );
  expectError(await runCli(['encryption', 'rotate'], stack.env), 1, new RegExp(`"${newId}" is not configured`));
});

test('the codec server refuses a body that is not JSON, and does not log it', async () => {
  const response = await fetch(`http://127.0.0.1:${codecServer.port}/encode`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-Namespace': 'default' },
    body: '{"payloads": [{"data": "a secret reference',
  });
  expect([response.status, await response.text()]).toEqual([400, 'The body is not JSON.']);
  expect(codecServerLog.join('')).not.toContain('secret reference');
});

test('a run with a signal that no configured key decrypts is replaced, without the signal', async () => {
  const id = await openOrder(stack, {}, ['signup_started']);
  const otherKeys = parseKeys(`k9:${randomBytes(32).toString('base64')}`)!;
  const staging = createTemporalClient(
    stack.temporal,
    payloadCodecs({ encryptionKeys: otherKeys, encryptPayloads: true }),
  );
  const { runId: stuck } = await stack.client.workflow.getHandle(`order-${id}`).describe();
  await staging.workflow.getHandle(`order-${id}`).signal(cancelSignal, { reason: 'fraud' });
  await staging.connection.close();
  const isReplaced = async () => (await stack.client.workflow.getHandle(`order-${id}`).describe()).runId !== stuck;
  await until(isReplaced, 'the run is replaced', 500_000);
  expect((await stack.api.cancel(id)).status).toBe(200);
  const events = (await timelineOf(stack, id)).flatMap(({ event, version }) => (version === null ? [] : [event]));
  expect(events).toEqual(['created', 'signup_started', 'cancel']);
}, 600_000);

test('a command refuses to store payloads in clear if the service encrypts them', async () => {
  const id = await openOrder(stack);
  const cancel = runCli(['order', 'cancel', id, '--reason', 'fraud'], { ...stack.env, ENCRYPTION_KEYS: '' });
  expectError(await cancel, 1, /ENCRYPT_PAYLOADS needs ENCRYPTION_KEYS/);
});
