import { temporal } from '@temporalio/proto';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { createActivities } from '../../../activities/index';
import { findApplication, recordDecision } from '../../../src/db/applications';
import { findOrder } from '../../../src/db/find-orders';
import type { Lender } from '../../../src/lender/lender';
import { BUSINESS, applied, customerAt, startCheckout } from '../../support/checkout';
import { isRunning, openOrder, statusOf, timelineOf } from '../../support/orders';
import { startReceiver } from '../../support/receiver';
import type { Stack } from '../../support/stack';
import { until } from '../../support/until';

const { EventType } = temporal.api.enums.v1;
let stack: Stack;
beforeAll(async () => {
  stack = await startCheckout();
});
afterAll(() => stack.stop());

const workflow = (id: string) => stack.client.workflow.getHandle(`order-${id}`);
const statusOfRow = async (id: string) => (await findOrder(stack.db, id))!.order.status;
const eventsOf = async (id: string) => (await timelineOf(stack, id)).map(({ event }) => event);
const decided = (id: string, status: string) =>
  until(async () => (await statusOfRow(id)) === status, `it is ${status}`);

async function pendingActivities(id: string): Promise<string[]> {
  const { raw } = await workflow(id).describe();
  return (raw.pendingActivities ?? []).map((activity) => activity.activityType?.name ?? '');
}
const isAsking = (id: string) =>
  until(async () => (await pendingActivities(id)).includes('askLender'), 'the lender is asked');
const details = async (id: string) =>
  (await workflow(id).query<{ currentDetails?: string }>('__temporal_workflow_metadata')).currentDetails;

test('an application that nobody told the workflow of is found by the sweep', async () => {
  const id = await applied(stack, 'jo@bloggs.example', { tell: false, sweepAfterMs: 0 });
  await decided(id, 'APPROVED');
});

test('an outage of the lender is retried until it is over, and people see what is under way', async () => {
  const id = await applied(stack, 'outage@bloggs.example');
  await isAsking(id);
  expect(await details(id)).toContain('the lender is being asked');
  await decided(id, 'APPROVED');
  expect(await eventsOf(id)).toEqual(['created', 'signup_started', 'approved']);
  await until(async () => !(await details(id))?.includes('the lender'), 'nobody waits for the lender');
});

test('a referred application is asked for again when its time has come, as people see', async () => {
  const id = await applied(stack, 'referred@bloggs.example');
  await until(async () => (await details(id))?.includes('decides later: asked again at'), 'it is referred');
  expect(await statusOfRow(id)).toBe('PENDING');
  await decided(id, 'APPROVED');
});

test('a terminated workflow that is resumed from the row asks again by itself', async () => {
  for (const email of ['outage@bloggs.example', 'referred-declined@bloggs.example']) {
    const id = await applied(stack, email);
    await until(async () => (await details(id))?.includes('lender'), 'it waits for the lender');
    await workflow(id).terminate('an operator pressed the button');
    await decided(id, email.startsWith('outage') ? 'APPROVED' : 'UNSUCCESSFUL');
  }
});

test('a decision that was written down before its workflow was lost stands', async () => {
  const id = await applied(stack, 'outage@bloggs.example');
  await isAsking(id);
  await workflow(id).terminate();
  await recordDecision(stack.db, (await findApplication(stack.db, id))!.id, { kind: 'declined', code: 'other' });
  await decided(id, 'UNSUCCESSFUL');
  expect(await eventsOf(id)).toEqual(['created', 'signup_started', 'declined']);
});

test('a cancel ends the asking at once, though the workflow lives on for its webhooks', async () => {
  const receiver = await startReceiver();
  receiver.answerWith(500);
  for (const email of ['outage@bloggs.example', 'referred@bloggs.example']) {
    const id = await applied(stack, email, { data: { webhook_url: receiver.url } });
    await until(async () => (await details(id))?.includes('lender'), 'it waits for the lender');
    expect((await stack.api.cancel(id)).status).toBe(200);
    await until(async () => !(await pendingActivities(id)).includes('askLender'), 'nobody is asked any more');
    expect(await isRunning(stack.client, id)).toBe(true);
    await until(async () => !(await details(id))?.includes('the lender'), 'nobody waits for the lender');
    expect(await eventsOf(id)).toEqual(['created', 'signup_started', 'cancel']);
    await workflow(id).terminate();
  }
  await receiver.stop();
});

test('an order without webhooks is closed by a cancel while its lender is out', async () => {
  const id = await applied(stack, 'outage@bloggs.example');
  await isAsking(id);
  await stack.api.cancel(id);
  await workflow(id).result();
  expect(await statusOf(stack.client, id)).toBe('COMPLETED');
});

test('decisions wait for a worker, and no customer is lost by that', async () => {
  const id = await openOrder(stack, {}, ['signup_started']);
  const { order_url: url } = (await stack.api.get(id)).body.data;
  await stack.stopWorker();
  const page = await customerAt(url).apply();
  expect(page.heading).toBe('Waiting for the lender');
  await stack.startWorker();
  await decided(id, 'APPROVED');
});

test('an application, its decision and its completion leave nothing about the customer in history', async () => {
  const { order_url: url, id } = (await stack.api.create()).body.data;
  const customer = customerAt(url);
  await customer.apply({ email: 'referred@secret.example', business_name: 'Secret & Sons' });
  await until(async () => (await customer.look()).heading === 'You are approved', 'it is approved');
  await customer.submit('confirmation', { agree: 'yes' });
  await workflow(id).result();
  const { events } = await workflow(id).fetchHistory();
  const text = JSON.stringify(events, (_key, value: unknown) =>
    value instanceof Uint8Array ? Buffer.from(value).toString() : value,
  );
  expect(text).toContain('askLender');
  for (const secret of ['secret.example', 'Secret', BUSINESS.company_number, '12500', '1250000']) {
    expect(text).not.toContain(secret);
  }
  const asked = events!.filter(({ eventType }) => eventType === EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED);
  expect(asked.map((event) => event.activityTaskScheduledEventAttributes!.activityType!.name)).toEqual([
    'saveOrder',
    'askLender',
    'askLender',
    'saveOrder',
    'saveOrder',
  ]);
});

test("what a lender's adapter throws does not reach history, but for a message that is meant for it", async () => {
  const id = await applied(stack, 'outage@bloggs.example', { tell: false });
  const ask = (decide: Lender['decide'] | undefined) => {
    const activities = createActivities({
      db: stack.db,
      lender: decide && { decide },
      sender: undefined as never,
      schedule: undefined as never,
      attemptsPerSeller: 1,
      checkoutBaseUrl: 'http://127.0.0.1',
      checkAfterMs: 1000,
    });
    return new MockActivityEnvironment(undefined, { logger: new DefaultLogger('ERROR') }).run(() =>
      activities.askLender(id),
    );
  };
  const refused = ask((application) => Promise.reject(new TypeError(`no such person: ${application.applicant.email}`)));
  await expect(refused).rejects.toMatchObject({ message: "the lender's adapter failed: TypeError", cause: undefined });
  await expect(ask(undefined)).rejects.toThrow('no lender is configured');
  expect(await ask(() => Promise.resolve({ kind: 'failed' }))).toEqual({
    kind: 'decided',
    event: 'failed',
    reason: 'the lender could not process the application',
  });
});
