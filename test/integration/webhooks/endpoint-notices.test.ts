import { saveBranding } from '../../../src/checkout/db/branding';
import { findEndpointsToTell } from '../../../src/db/endpoint-notices';
import { type MailServer, kindOf, startMailServer } from '../../support/mails';
import { openOrder, resendFirst } from '../../support/orders';
import { useReceiver } from '../../support/receiver';
import { useStack, withNewSeller } from '../../support/stack';
import { until } from '../../support/until';

/** Fixed, because the settings of the service name it before a server listens. */
const PORT = 30_000 + (process.pid % 2_000);
const LIVE = { sandbox: false, live: true };

const stack = useStack({
  env: {
    WEBHOOK_RETRY_DELAYS: '0,0.2',
    MAIL_URL: `smtp://127.0.0.1:${PORT}`,
    MAIL_FROM: 'no-reply@pay.example',
  },
});
const receiver = useReceiver();
let server: MailServer;

beforeAll(async () => {
  server = await startMailServer({ port: PORT });
});
afterAll(() => server.stop());

const mail = (number: number) => until(() => server.mails[number], `mail ${number} arrives`);
const origin = () => new URL(receiver.url).origin;
const age = (table: string, by: string) => stack.db.query(`update ${table} set at = at - $1::interval`, [by]);
const untilNothingIsDue = () =>
  until(async () => (await findEndpointsToTell(stack.db, LIVE, 10)).length === 0, 'nothing is due');

test("a seller's contact is told of an exhausted webhook, of an hour of failures and of their end, each once", async () => {
  await saveBranding(stack.db, stack.seller.id, { contactEmail: 'it@shop.example' });
  receiver.answerWith(503);
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started']);

  const exhausted = await mail(0);
  expect(exhausted.headers).toMatchObject({
    subject: `A webhook to ${origin()} is no longer repeated`,
    from: 'Order service <no-reply@pay.example>',
    to: 'it@shop.example',
  });
  expect(exhausted.text).toContain('Account: Test Shop Ltd');
  expect(exhausted.text).toContain('Your server answered 503.');
  expect(exhausted.text).toMatch(/https?:\/\/\S+\/docs\/webhooks\//);
  await untilNothingIsDue();

  await age('webhook_attempt', '61 minutes');
  const failing = await mail(1);
  expect(failing.headers.subject).toBe(`Webhooks to ${origin()} have failed for an hour`);
  expect(failing.text).toMatch(/has been accepted since \d+ \w+ \d{4} at \d\d:\d\d UTC\. Your server answered 503\./);
  await untilNothingIsDue();

  receiver.answerWith(200);
  await resendFirst(stack, id);
  const answering = await mail(2);
  expect(answering.headers.subject).toBe(`${origin()} accepts webhooks again`);
  expect(answering.text).not.toContain('503');
  await untilNothingIsDue();
  expect(server.mails.map(kindOf)).toEqual(['exhausted', 'failing', 'answering']);

  const activity = await stack.client.activity
    .getHandle(`endpoint-notice-${stack.seller.id}-${origin()}`)
    .describe({ includeInput: true, includeOutcome: true, includeLastFailure: true });
  const text = JSON.stringify([activity, await activity.getInput(), await activity.getResult()]);
  expect(text).toContain(origin());
  expect(text).not.toContain('it@shop.example');
});

test('an endpoint that fails again is told of a day later', async () => {
  receiver.answerWith(503);
  const told = server.mails.length;
  await openOrder(stack, { webhook_url: receiver.url }, ['signup_started']);
  const attempts = `select count(*)::integer from webhook_attempt where endpoint_state = 'failing'`;
  await until(async () => (await stack.db.query<{ count: number }>(attempts)).rows[0]!.count === 4, 'both have failed');
  await age('webhook_attempt', '61 minutes');
  expect(await findEndpointsToTell(stack.db, LIVE, 10)).toEqual([]);
  await age('endpoint_notice', '1 day');
  await until(() => server.mails.length === told + 2, 'both are told again');
  expect(server.mails.slice(told).map(kindOf).sort()).toEqual(['exhausted', 'failing']);
});

test('an account without a contact, or whose mails go nowhere, is not written to', async () => {
  const told = server.mails.length;
  const other = await withNewSeller(stack);
  receiver.answerWith(503);
  await openOrder(other, { webhook_url: receiver.url }, ['signup_started']);
  const notices = 'select from endpoint_notice where seller_id = $1';
  await until(async () => (await stack.db.query(notices, [other.seller.id])).rowCount === 1, 'it is over');
  await stack.db.query('delete from endpoint_notice where seller_id = $1', [other.seller.id]);
  expect(await findEndpointsToTell(stack.db, { sandbox: true, live: false }, 10)).toEqual([]);
  expect(server.mails.length).toBe(told);
});
