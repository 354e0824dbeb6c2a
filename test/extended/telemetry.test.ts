import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { freePort } from '../../tools/local-stack/ports';
import { PACKAGE_ROOT } from '../../src/package';
import { type Api, BASE, apiOf } from '../support/api';
import { applied, endReferral } from '../support/checkout';
import { runCli } from '../support/cli';
import { constants } from '../support/constants';
import { openOrder } from '../support/orders';
import { type ServiceProcess, killProcesses, startProcess } from '../support/processes';
import { type Metrics, scrape } from '../support/prometheus';
import { type PrometheusServer, hasPrometheus, startPrometheus } from '../support/prometheus-server';
import { useReceiver } from '../support/receiver';
import { type Stack, useStack } from '../support/stack';
import { useTraceCollector } from '../support/trace-collector';
import { until } from '../support/until';

jest.setTimeout(300_000);

const MONITORING = path.join(PACKAGE_ROOT, 'deploy/monitoring');

// The processes end before the stack drops its database.
afterAll(() => killProcesses());
afterAll(() => prometheus?.stop());
const stack = useStack({ worker: false, sandbox: true });
const collector = useTraceCollector();
const receiver = useReceiver();
let server: ServiceProcess;
let worker: ServiceProcess;
let prometheus: PrometheusServer | undefined;
let api: Api;
let addresses: string[];
let env: Record<string, string>;

/** The service as separate processes, with metrics and traces. */
beforeAll(async () => {
  const [port, ...metricsPorts] = await Promise.all([freePort(), freePort(), freePort()]);
  addresses = metricsPorts.map((metricsPort) => `127.0.0.1:${metricsPort}`);
  env = {
    ...stack.env,
    CHECKOUT_BASE_URL: `http://127.0.0.1:${port}`,
    HOSTED_CHECKOUT: 'true',
    ...constants({ readBudgetMs: 10_000 }),
    UPDATE_TIMEOUT_MS: '60000',
    SANDBOX_REFERRAL_MS: '3600000',
    WEBHOOK_RETRY_DELAYS: '0,0.1,0.1',
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_BSP_SCHEDULE_DELAY: '100',
  };
  [server, worker] = await Promise.all([
    startProcess('server', { ...env, PORT: String(port), METRICS_ADDRESS: addresses[0]! }),
    startProcess('worker', { ...env, METRICS_ADDRESS: addresses[1]! }),
  ]);
  api = apiOf(`http://127.0.0.1:${port}`, stack.seller, stack.api.checkoutKey);
  await api.call('PUT', `${BASE}/seller/${stack.seller.id}/webhook_headers/`, {
    body: {
      data: { origin: new URL(receiver.url).origin, headers: [{ name: 'X-Gateway', value: 'gateway-password' }] },
    },
  });
  // A process serves its metrics a moment after it reports that it has started.
  const isServed = () => scrape(...addresses).then(Boolean, () => false);
  await until(isServed, 'both processes serve metrics');
  const jobs = { 'order-service-api': addresses[0]!, 'order-service-worker': addresses[1]! };
  if (!hasPrometheus) return;
  prometheus = await startPrometheus(jobs, path.join(MONITORING, 'alert-rules.yml'));
  // What happens before the first scrape is not an increase.
  await until(async () => (await prometheus!.evaluate('up == 1')).length === 2, 'both processes have been scraped');
});

const traced = (): Pick<Stack, 'api' | 'db'> => ({ api, db: stack.db });

/** The lines of both processes with this message. */
const logged = (message: string): any[] =>
  [...server.lines, ...worker.lines]
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line))
    .filter(({ msg }) => msg === message);

/** Waits for the log line with these fields: it can arrive after what it describes. */
const untilLogged = (message: string, fields: Record<string, unknown>): Promise<any> =>
  until(
    () => logged(message).find((line) => Object.entries(fields).every(([name, value]) => line[name] === value)),
    `the line: ${message}`,
  );

/** Waits until a metric of both processes together has grown, because a counter follows its event. */
async function untilGrown(before: Metrics, name: string, labels: Record<string, string>, by = 1): Promise<void> {
  const wanted = before.value(name, labels) + by;
  await until(
    async () => (await scrape(...addresses)).value(name, labels) >= wanted,
    `${name}${JSON.stringify(labels)} is ${wanted}, from ${before.value(name, labels)}`,
  );
}

const counted = (name: string, labels: Record<string, string>) => [`order_service_${name}`, labels] as const;

test("one trace leads from the caller's request through the activity to the receiver", async () => {
  const id = await openOrder(traced(), { webhook_url: receiver.url, reference: 'traced-reference' });
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
  const requestId = randomUUID();
  const answer = await api.call('POST', `${BASE}/order/${id}/progress/`, {
    key: api.checkoutKey,
    headers: { traceparent: `00-${traceId}-00f067aa0ba902b7-01`, 'X-Request-Id': requestId },
    body: { data: { event: 'signup_started' } },
  });
  expect(answer.status).toBe(200);
  const delivery = await until(() => receiver.deliveries[0], 'the webhook has arrived');

  const inTrace = () => collector.spans.filter((span) => span.traceId === traceId);
  const find = (name: string) => until(() => inTrace().find((span) => span.name === name), `there is a span ${name}`);
  const attempt = await find('send webhook');
  expect(delivery.headers.traceparent).toBe(`00-${traceId}-${attempt.spanId}-01`);
  // Each span's parent is the next one.
  const chain = [attempt, await find('saveChange'), await find(`POST ${BASE}/order/:orderId/progress`)];
  for (const [index, { parentSpanId }] of chain.entries()) {
    expect(parentSpanId).toBe(chain[index + 1]?.spanId ?? '00f067aa0ba902b7');
  }
  expect(chain.map(({ service }) => service.replace('order-service-', ''))).toEqual(['worker', 'worker', 'api']);
  // `pg` is instrumented too: the save is below the activity.
  const [, save] = chain;
  await until(
    () => inTrace().some(({ name, parentSpanId }) => /^pg/.test(name) && parentSpanId === save!.spanId),
    'pg',
  );

  expect(await untilLogged('order changed', { event: 'signup_started', order_id: id })).toMatchObject({
    request_id: requestId,
    trace_id: traceId,
    workflow_id: `order-${id}`,
    actor: 'checkout',
  });
});

test('spans contain no pay link, key, secret, name, reference or URL of a seller', async () => {
  const order = await api.create({ reference: 'reference-of-the-shop', redirect_url: 'https://shop.example/private' });
  const payLink = /[^/]+(?=\/$)/.exec(order.body.data.order_url)![0];
  await fetch(order.body.data.order_url);
  await api.call('GET', `${BASE}/pay_link/${payLink}/`, { key: api.checkoutKey });
  await until(
    () => collector.spans.some(({ name }) => name.endsWith('/pay_link/:payLinkId')),
    'the spans have arrived',
  );
  await until(
    () => collector.spans.some(({ name }) => name.startsWith('GET /pay/:payLinkId')),
    'the spans have arrived',
  );
  const text = collector.text();
  for (const secret of [payLink, stack.seller.key, api.checkoutKey, stack.seller.webhookSecret]) {
    expect(text).not.toContain(secret);
  }
  expect(text).not.toMatch(/Test Shop Ltd|traced-reference|reference-of-the-shop|shop\.example|\/hooks/);
});

describe('metrics', () => {
  /** Of the worker, before it is stopped. */
  let workerNames: Set<string>;

  test('count requests by route, problems by code, and reads by source', async () => {
    const before = await scrape(...addresses);
    const { body } = await api.create({ reference: 'counted' });
    expect((await api.create({ reference: 'counted' })).status).toBe(409);
    expect((await api.get(body.data.id)).status).toBe(200);
    await api.get(randomUUID());
    await api.call('GET', '/nowhere');
    const route = `${BASE}/seller/:sellerId/order`;
    await untilGrown(before, ...counted('http_requests_total', { method: 'POST', route, status: '201' }));
    await untilGrown(before, ...counted('http_request_duration_seconds_count', { method: 'POST', route }), 2);
    await untilGrown(before, ...counted('http_problems_total', { status: '409', code: 'duplicate_reference' }));
    await untilGrown(before, ...counted('http_problems_total', { status: '404', code: 'not_found' }), 2);
    await untilGrown(before, ...counted('http_requests_total', { route: 'none', status: '404' }));
    await untilGrown(before, ...counted('order_changes_total', { event: 'created', actor: 'seller' }));
    const open = await openOrder(traced(), {}, ['signup_started']);
    const isLive = async () => (await api.get(open)).headers.get('Order-Source') === 'workflow';
    await until(isLive, 'Temporal responds in time');
    await api.cancel(open);
    expect((await api.get(open)).headers.get('Order-Source')).toBe('snapshot');
    await untilGrown(before, ...counted('order_reads_total', { source: 'workflow' }));
    await untilGrown(before, ...counted('order_reads_total', { source: 'snapshot' }));
    await untilGrown(before, ...counted('order_changes_total', { event: 'cancel', actor: 'seller' }));
    // The row takes the cancel of an order that has failed.
    const failed = await openOrder(traced(), {}, ['failed']);
    await api.cancel(failed);
    await untilGrown(before, ...counted('order_changes_total', { event: 'cancel', actor: 'seller' }), 2);
    await untilLogged('order changed', { order_id: failed, event: 'cancel' });
    const routes = (await scrape(...addresses)).labels('order_service_http_requests_total', 'route');
    expect([...routes].filter((one) => /[0-9a-f]{8}-/.test(one))).toEqual([]);
  });

  test('count webhook attempts and how deliveries end, with a log line for each failed attempt', async () => {
    const before = await scrape(...addresses);
    receiver.answerWith(500);
    const failing = await openOrder(traced(), { webhook_url: receiver.url }, ['signup_started']);
    await untilGrown(before, ...counted('webhook_attempts_total', { outcome: 'failed', error: 'http_status' }), 3);
    await untilGrown(before, ...counted('webhooks_ended_total', { state: 'exhausted' }));
    receiver.answerWith(410);
    await openOrder(traced(), { webhook_url: receiver.url }, ['signup_started']);
    await untilGrown(before, ...counted('webhook_attempts_total', { outcome: 'gone' }));
    await untilGrown(before, ...counted('webhooks_ended_total', { state: 'disabled' }));
    receiver.answerWith(200);
    await openOrder(traced(), { webhook_url: receiver.url }, ['signup_started']);
    await untilGrown(before, ...counted('webhook_attempts_total', { outcome: 'delivered' }));
    await untilGrown(before, ...counted('webhooks_ended_total', { state: 'delivered' }));
    await untilGrown(before, ...counted('webhook_attempt_duration_seconds_count', {}), 5);

    const ofOrder = ({ order_id }: { order_id: string }) => order_id === failing;
    const fields = { workflow_id: `order-${failing}`, webhook_id: expect.any(String), seller_id: stack.seller.id };
    const request = { request_id: expect.any(String), trace_id: expect.any(String) };
    expect(logged('a webhook attempt failed').filter(ofOrder)).toEqual(
      ['pending', 'pending', 'exhausted'].map((state, index) =>
        expect.objectContaining({
          ...fields,
          ...request,
          step: index + 1,
          status: 500,
          error: 'http_status',
          state,
        }),
      ),
    );
    expect(logged('a webhook is exhausted: it is not retried, but can be resent').filter(ofOrder)).toMatchObject([
      { ...fields, ...request, level: 'warn' },
    ]);
  });

  test('count replaced runs, refused signals and operator actions, with a log line for each', async () => {
    const before = await scrape(...addresses);
    const id = await openOrder(traced());
    const handle = stack.client.workflow.getHandle(`order-${id}`);
    await handle.terminate('an operator');
    await untilGrown(before, ...counted('replaced_runs_total', { reason: 'closed' }));
    expect(
      await untilLogged('an order had no run that could go on: resumed from the row', { order_id: id }),
    ).toBeDefined();
    await handle.signal('customerProgress', { event: 'completed' });
    await untilGrown(before, ...counted('refused_signals_total', { actor: 'checkout' }));
    expect(await untilLogged('a signal was refused', { order_id: id })).toMatchObject({ status: 'CREATED' });

    const cli = { ...env, ORDER_SERVICE_OPERATOR: 'jo' };
    expect(await runCli(['order', 'cancel', id, '--reason', 'by phone'], cli)).toMatchObject({ code: 0 });
    const [action] = (await runCli(['audit', '--json'], cli)).json();
    expect(action).toMatchObject({ operator: 'jo', command: 'order cancel', outcome: 'succeeded' });
    await untilGrown(before, ...counted('operator_actions_total', { outcome: 'succeeded' }));
    expect(await untilLogged('operator action', { request_id: action.action_id })).toMatchObject({
      operator: 'jo',
      command: 'order cancel',
      arguments: [id],
    });
    expect(await untilLogged('order changed', { order_id: id, event: 'cancel' })).toMatchObject({
      actor: 'operator',
      request_id: action.action_id,
    });

    const inUi = await openOrder(traced());
    await stack.client.workflow.getHandle(`order-${inUi}`).cancel();
    await untilLogged('order changed', { order_id: inUi, actor: 'operator' });
  });

  test("count the lender's answers", async () => {
    const before = await scrape(...addresses);
    const id = await applied({ ...stack, ...traced() }, 'outage@bloggs.example');
    const mode = 'sandbox';
    await untilGrown(before, ...counted('lender_requests_total', { mode, outcome: 'unavailable' }));
    // Prometheus sees an increase only after a first value.
    const seen = async () => (await prometheus!.evaluate('order_service_lender_requests_total')).length > 0;
    if (prometheus) await until(seen, 'Prometheus has the first answer');
    await endReferral(stack.db, id);
    await untilGrown(before, ...counted('lender_requests_total', { mode, outcome: 'approved' }));
    await untilGrown(before, ...counted('lender_request_duration_seconds_count', { mode }), 2);
    if (prometheus)
      await until(
        () =>
          prometheus!
            .evaluate('order_service_lender_request_duration_seconds_count >= 2')
            .then(({ length }) => length > 0),
        'Prometheus has the first calls',
      );
    await applied({ ...stack, ...traced() }, 'jo@bloggs.example');
    await untilGrown(before, ...counted('lender_request_duration_seconds_count', { mode }), 3);
  });

  test('show orders by status, the backlog and its age, the pool, the event loop and the Temporal SDK', async () => {
    const api0 = await scrape(addresses[0]!);
    const names = ['database_connections', 'database_connections_max', 'database_waiting', 'postgres_up', 'info'];
    expect([...names.map((name) => `order_service_${name}`).filter((name) => !api0.names.has(name))]).toEqual([]);
    expect(api0.value(...counted('database_connections_max', {}))).toBe(20);
    expect(api0.value(...counted('database_connections', {}))).toBeGreaterThan(0);
    expect(api0.names).toContain('nodejs_eventloop_lag_p99_seconds');
    workerNames = (await scrape(addresses[1]!)).names;
    expect([...workerNames].filter((name) => name.startsWith('temporal_')).length).toBeGreaterThan(10);

    // Without a worker, nothing starts the workflow of an order that the API did not start.
    await worker.signal('SIGTERM');
    receiver.answerWith(200);
    const { rows } = await stack.db.query('select status, count(*)::integer from orders group by status');
    const waiting = await openOrder(traced());
    await stack.db.query(
      `insert into start_request (order_id, seller_id, created_at) values ($1, $2, now() - interval '1 hour')
       on conflict (order_id) do update set created_at = excluded.created_at`,
      [waiting, stack.seller.id],
    );
    await stack.db.query(
      `insert into webhook_event (id, order_id, seller_id, sequence, body, created_at)
       values (gen_random_uuid(), $1, $2, 1, '{}', now() - interval '2 hours')`,
      [waiting, stack.seller.id],
    );
    const hour = 3600;
    const found = await until(async () => {
      const metrics = await scrape(addresses[0]!);
      return metrics.value(...counted('orders_waiting', {})) > 0 ? metrics : undefined;
    }, 'the queries are made again');
    expect(found.value(...counted('oldest_order_waiting_seconds', {}))).toBeGreaterThanOrEqual(hour);
    expect(found.value(...counted('oldest_order_waiting_seconds', {}))).toBeLessThan(1.1 * hour);
    expect(found.value(...counted('webhooks_pending', {}))).toBeGreaterThan(0);
    expect(found.value(...counted('oldest_webhook_pending_seconds', {}))).toBeGreaterThanOrEqual(2 * hour);
    expect(found.value(...counted('webhooks_exhausted', {}))).toBeGreaterThan(0);
    const created: number = rows.find(({ status }) => status === 'CREATED')?.count ?? 0;
    expect(found.value(...counted('orders', { status: 'CREATED' }))).toBe(created + 1);
    expect((await api.progress(waiting, 'signup_started')).status).toBe(503);
  });

  test('include every metric that the alert rules and the dashboard use', async () => {
    const names = new Set([...(await scrape(addresses[0]!)).names, ...workerNames]);
    const files = ['alert-rules.yml', 'grafana-dashboard.json'].map((file) =>
      readFileSync(path.join(MONITORING, file), 'utf8'),
    );
    const used = new Set(files.join('\n').match(/\b(order_service|nodejs|temporal|process)_[a-z0-9_]+\b/g));
    expect(used.size).toBeGreaterThan(20);
    expect([...used].filter((name) => !names.has(name))).toEqual([]);
  });
});

/** The events of all tests above have happened while Prometheus scraped both processes. */
describe('in Prometheus', () => {
  const { panels } = JSON.parse(readFileSync(path.join(MONITORING, 'grafana-dashboard.json'), 'utf8'));
  const targets: { title: string; expr: string; legendFormat: string }[] = panels.flatMap(
    ({ title, targets: ofPanel }: any) => ofPanel.map((target: any) => ({ title, ...target })),
  );
  const ifInstalled = hasPrometheus ? test : test.skip;

  ifInstalled.each(targets)('the panel "$title" has data: $legendFormat', async ({ expr, legendFormat }) => {
    // Grafana's interval is at least four times that of the scrapes, some of which a busy machine misses.
    const read = () => prometheus!.evaluate(expr.replaceAll('$__rate_interval', '30s'));
    const hasData = async () => (await read()).some(({ values }) => values.length > 0);
    await until(hasData, 'two scrapes have the series');
    const series = await read();
    const shown = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label!);
    // Prometheus leaves out empty labels.
    expect(series.filter(({ labels }) => shown.every((label) => label in labels))).not.toEqual([]);
  });

  ifInstalled('every alert rule is evaluated, and the rules whose conditions hold become active', async () => {
    const find = async (name: string) => (await prometheus!.alertRules()).find((rule) => rule.name === name)?.state;
    const isActive = async (name: string) => ['pending', 'firing'].includes((await find(name)) ?? '');
    for (const name of ['OrderServiceWorkersDown', 'OrderServiceOrdersWaiting'])
      await until(() => isActive(name), `${name} is active`);
    await until(async () => (await find('OrderServiceWebhooksExhausted')) === 'firing', 'exhausted webhooks are found');
    const rules = await prometheus!.alertRules();
    expect(rules).toHaveLength(23);
    expect(rules.filter(({ health }) => health !== 'ok')).toEqual([]);
    // On a busy machine, a scrape may fail: a rule is then pending.
    const firing = rules.filter(({ state }) => state === 'firing').map(({ name }) => name);
    expect(firing.join()).not.toMatch(/ApiDown|Postgres|RunsReplaced|PoolExhausted/);
  });
});

test('no log line and no span contains a pay link, key, secret, static header, name, or URL of a seller', async () => {
  expect(receiver.deliveries[0]!.headers['x-gateway']).toBe('gateway-password');
  expect(JSON.stringify(collector.spans)).not.toContain('gateway-password');
  const { rows } = await stack.db.query<{ pay_link_id: string }>('select pay_link_id from orders');
  expect(rows.length).toBeGreaterThan(8);
  const text = [...server.lines, ...worker.lines].join('\n');
  expect(text.length).toBeGreaterThan(10_000);
  for (const { pay_link_id: payLink } of rows) expect(text).not.toContain(payLink);
  for (const secret of [stack.seller.key, api.checkoutKey, stack.seller.webhookSecret]) {
    expect(text).not.toContain(secret);
  }
  expect(text).not.toMatch(/Test Shop Ltd|gateway-password|reference-of-the-shop|shop\.example|\/hooks|bloggs/i);
});

test('a worker with LOG_LEVEL=warn logs operator actions anyway, because a restore needs them', async () => {
  if (worker.isRunning()) await worker.signal('SIGTERM');
  expect(await runCli(['checkout-key', 'create', '--operator', 'kim'], env)).toMatchObject({ code: 0 });
  const isUp = /"msg":"operator action"/;
  const quiet = await startProcess('worker', { ...env, LOG_LEVEL: 'warn' }, { isUp });
  await quiet.signal('SIGTERM');
  const lines = quiet.lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line));
  const atInfo = lines.filter(({ level }) => level === 'info');
  expect(atInfo).toMatchObject([{ operator: 'kim', command: 'checkout-key create', outcome: 'succeeded' }]);
});
