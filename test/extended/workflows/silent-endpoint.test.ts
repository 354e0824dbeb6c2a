import { text as readText } from 'node:stream/consumers';
import { BASE } from '../../support/api';
import { type TestServer, startTestServer } from '../../support/listening-server';
import { detailsOf, noWebhookPending, openOrder, resendFirst } from '../../support/orders';
import { storedText } from '../../support/history';
import { useStack } from '../../support/stack';
import { until } from '../../support/until';

/** The endpoint is probed after ten seconds: a test does much before that, even if the machine stalls. */
const stack = useStack({
  env: {
    WEBHOOK_RETRY_DELAYS: '0,0.1,0.1,0.1',
    WEBHOOK_BREAKER_FAILURES: '2',
    WEBHOOK_BREAKER_MIN_WAIT_MS: '10000',
    WEBHOOK_BREAKER_MAX_WAIT_MS: '10000',
  },
});

let endpoint: TestServer;
let isSilent: boolean;
let sequences: number[];
beforeEach(async () => {
  isSilent = true;
  sequences = [];
  endpoint = await startTestServer((request, response) => {
    if (isSilent) {
      request.socket.destroy();
      return;
    }
    void readText(request).then((text) => {
      sequences.push(JSON.parse(text).data.sequence);
      response.end();
    });
  });
});
afterEach(() => endpoint.close());

const url = () => `${endpoint.url}/hooks?token=hidden`;
const handle = (id: string) => stack.client.workflow.getHandle(`order-${id}`);
const details = (id: string) => detailsOf(stack.client, id);
const timeline = async (id: string) =>
  (await stack.api.call('GET', `${BASE}/order/${id}/timeline/`)).body.data as {
    type: string;
    reason?: string;
    attempt?: number;
  }[];
const waitOf = async (id: string) => (await timeline(id)).find(({ type }) => type === 'webhook_wait');

/** An order whose webhook waits for the endpoint. Two attempts at it have failed. */
async function waitingOrder(): Promise<string> {
  const id = await openOrder(stack, { webhook_url: url() }, ['signup_started']);
  await until(async () => /waits/.test(await details(id)), 'the webhook waits');
  return id;
}

test('a wait for a silent endpoint is visible to seller and operator, uses up no attempt, and keeps the order', async () => {
  const id = await waitingOrder();
  const silent = String.raw`the endpoint has not answered since \d{4}-\S+Z`;
  expect(await details(id)).toMatch(new RegExp(`webhook 1 waits: \`${silent}\`, next try \\d{4}-\\S+Z`));
  await stack.api.progress(id, 'approved');
  const noted = silent.replace('the endpoint', endpoint.url.replaceAll('.', String.raw`\.`));
  expect((await waitOf(id))!.reason).toMatch(new RegExp(`^${noted}$`));
  isSilent = false;
  await until(() => noWebhookPending(stack, [id]), 'both webhooks are delivered');
  expect(sequences).toEqual([1, 2]);
  expect((await timeline(id)).filter(({ type }) => type === 'webhook_wait')).toHaveLength(1);
  const { rows } = await stack.db.query(
    'select e.sequence, e.state, e.attempts from webhook_event e where order_id = $1 order by sequence',
    [id],
  );
  expect(rows).toEqual([
    { sequence: 1, state: 'delivered', attempts: 3 },
    { sequence: 2, state: 'delivered', attempts: 1 },
  ]);
  const { events } = await handle(id).fetchHistory();
  const summaries = events!.flatMap(({ timerStartedEventAttributes, userMetadata }) =>
    timerStartedEventAttributes ? [Buffer.from(userMetadata?.summary?.data ?? []).toString()] : [],
  );
  expect(summaries).toContainEqual(expect.stringMatching(new RegExp(`waits: \`${silent}`)));
  expect(await storedText(handle(id))).not.toContain('hidden');
});

test('a new order of the seller waits without an attempt, until a requested resend probes the endpoint', async () => {
  await waitingOrder();
  await stack.db.query(`update endpoint_breaker set probe_at = now() + interval '1 hour', resend_probe_at = now()`);
  const id = await openOrder(stack, { webhook_url: url() }, ['failed']);
  await until(() => waitOf(id), 'the new order waits');
  expect((await timeline(id)).filter(({ type }) => type === 'webhook_attempt')).toEqual([]);
  isSilent = false;
  await resendFirst(stack, id);
  await until(() => noWebhookPending(stack, [id]), 'the webhook is delivered');
  // Recorded after the attempt.
  await until(
    async () => (await stack.db.query('select from endpoint_breaker')).rowCount === 0,
    'the breaker is closed',
  );
});

test('a terminated run is replaced by one that waits too', async () => {
  const id = await waitingOrder();
  await stack.db.query(`update endpoint_breaker set probe_at = now() + interval '1 hour'`);
  await handle(id).terminate();
  await until(async () => /waits/.test(await details(id).catch(() => '')), 'the new run waits');
  await stack.db.query(`update endpoint_breaker set probe_at = now(), resend_probe_at = now()`);
  isSilent = false;
  await stack.db.query(
    `update webhook_event set resend_requested_at = now(), resend_urgent = true where order_id = $1`,
    [id],
  );
  await handle(id).signal('resendWebhooks');
  await until(() => noWebhookPending(stack, [id]), 'the webhook is delivered');
  expect(sequences).toEqual([1]);
});
