import { cancelSignal, changeOrderUpdate, customerProgressSignal } from '../../../workflows/messages';
import { acceptVersions, isRunning, openOrder, refuseVersion, timelineOf } from '../../support/orders';
import { useReceiver } from '../../support/receiver';
import { until } from '../../support/until';
import { useSharedStack } from '../../support/shared-stack';

const stack = useSharedStack();
const receiver = useReceiver('test');

const workflow = (id: string) => stack.client.workflow.getHandle(`order-${id}`);

test("an operator's request to cancel the workflow cancels the order", async () => {
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started']);
  await workflow(id).cancel();
  expect(await workflow(id).result()).toMatchObject({ status: 'UNSUCCESSFUL' });
  expect((await timelineOf(stack, id)).at(-1)).toMatchObject({
    event: 'cancel',
    actor: 'operator',
    channel: 'temporal',
    to_status: 'UNSUCCESSFUL',
  });
  expect((await stack.api.get(id)).body.data.cancelled_at).toEqual(expect.any(String));
});

test('a signal changes the order like a request, and a refused signal is recorded in the timeline', async () => {
  const id = await openOrder(stack);
  await workflow(id).signal(customerProgressSignal, { event: 'signup_started', channel: 'api' });
  await workflow(id).signal(customerProgressSignal, { event: 'completed', reason: 'too early' });
  await until(async () => (await timelineOf(stack, id)).length === 3, 'both signals are in the timeline');
  expect((await timelineOf(stack, id)).slice(1)).toEqual([
    {
      version: 2,
      event: 'signup_started',
      from_status: 'CREATED',
      to_status: 'PENDING',
      actor: 'checkout',
      channel: 'temporal',
      reason: null,
    },
    {
      version: null,
      event: 'completed',
      from_status: 'PENDING',
      to_status: 'PENDING',
      actor: 'checkout',
      channel: 'temporal',
      reason: 'too early',
    },
  ]);
  await workflow(id).signal(cancelSignal, { reason: 'fraud' });
  await workflow(id).result();
  expect((await timelineOf(stack, id)).at(-1)).toMatchObject({ event: 'cancel', actor: 'operator', reason: 'fraud' });
});

test.each([
  ['no argument', []],
  ['null', [null]],
  ['an unknown event', [{ event: 'refund' }]],
  ['a reason that is not a string', [{ event: 'completed', reason: 7, actor: 'nobody' }]],
])('a signal with %s is refused and does not block the workflow', async (_payload, args) => {
  const id = await openOrder(stack);
  await workflow(id).signal('customerProgress', ...args);
  await until(async () => (await timelineOf(stack, id)).length === 2, 'the refusal is in the timeline');
  expect((await timelineOf(stack, id))[1]).toMatchObject({ version: null, to_status: 'CREATED', actor: 'checkout' });
  expect((await stack.api.cancel(id)).status).toBe(200);
});

test.each([
  ['no argument', []],
  ['an event that does not exist', [{ event: 'expired ' }]],
  ['an event that the status does not allow', [{ event: 'approved' }]],
])('an update with %s is refused and does not block the workflow', async (_payload, args) => {
  const id = await openOrder(stack);
  await expect(workflow(id).executeUpdate('changeOrder', { args: args as [] })).rejects.toThrow(/Update failed/);
  expect((await stack.api.cancel(id)).status).toBe(200);
});

test.each([
  ['no channel', 'temporal', {}],
  ['an unknown channel', 'temporal', { channel: 'telephone' }],
  ['a channel', 'cli', { channel: 'cli' }],
])("an update that cancels, with %s, is an operator's, with the channel %s", async (_, channel, payload) => {
  const id = await openOrder(stack);
  await workflow(id).executeUpdate('changeOrder', { args: [{ event: 'cancel', ...payload }] });
  expect((await timelineOf(stack, id)).at(-1)).toMatchObject({ event: 'cancel', actor: 'operator', channel });
});

test('concurrent updates with the same id make one change', async () => {
  const id = await openOrder(stack);
  const update = () =>
    workflow(id).executeUpdate(changeOrderUpdate, {
      updateId: 'signup_started:1',
      args: [{ event: 'signup_started', actor: 'checkout', channel: 'api', reason: null }],
    });
  const answers = await Promise.all([update(), update(), update()]);
  expect(answers.map(({ version }) => version)).toEqual([2, 2, 2]);
  expect(await timelineOf(stack, id)).toHaveLength(2);
});

test('a signal with NUL or lone surrogates does not block the workflow', async () => {
  const id = await openOrder(stack);
  await workflow(id).signal(customerProgressSignal, { event: 'comp\u0000leted', reason: 'a\u0000b\ud800' });
  await workflow(id).signal(cancelSignal, { reason: `\u0000${'😀'.repeat(300)}` });
  await workflow(id).result();
  expect((await timelineOf(stack, id)).map(({ version }) => version)).toEqual([1, null, 2]);
});

test('a signal with a name that Temporal reserves does not block the workflow', async () => {
  const id = await openOrder(stack, {}, ['signup_started']);
  await workflow(id).signal('__temporal_unknown');
  expect((await stack.api.progress(id, 'approved')).status).toBe(200);
});

test('a signal in an unknown encoding is refused and does not block the workflow', async () => {
  const id = await openOrder(stack);
  await stack.client.workflowService.signalWorkflowExecution({
    namespace: stack.temporal.namespace!,
    workflowExecution: { workflowId: `order-${id}` },
    signalName: 'customerProgress',
    input: { payloads: [{ metadata: { encoding: Buffer.from('json/protobuf') }, data: Buffer.from('{}') }] },
  });
  await until(async () => (await timelineOf(stack, id)).length === 2, 'the refusal is in the timeline');
  expect((await stack.api.cancel(id)).status).toBe(200);
});

test('an update that a signal in progress may allow waits for it', async () => {
  const id = await openOrder(stack, {}, ['signup_started']);
  await refuseVersion(stack.db, id, 3);
  await workflow(id).signal(customerProgressSignal, { event: 'approved' });
  const accepted = async () => {
    const { events } = await workflow(id).fetchHistory();
    return events!.filter((event) => event.workflowExecutionUpdateAcceptedEventAttributes).length;
  };
  const before = await accepted();
  const order = workflow(id).executeUpdate(changeOrderUpdate, {
    args: [{ event: 'completed', actor: 'checkout', channel: 'api', reason: null }],
  });
  await until(async () => (await accepted()) > before, 'the update is accepted');
  await acceptVersions(stack.db, id);
  expect((await order).status).toBe('SUCCESSFUL');
});

test('a flood of signals makes the workflow continue as new, and the order stays open', async () => {
  const id = await openOrder(stack, {}, ['signup_started']);
  const { runId } = await workflow(id).describe();
  for (let batch = 0; (await workflow(id).describe()).runId === runId; batch++) {
    if (batch > 40) throw new Error('the workflow has not continued as new');
    const signals = Array.from({ length: 100 }, () =>
      workflow(id).signal(customerProgressSignal, { event: 'completed' }),
    );
    await Promise.all(signals);
    let refused = 0;
    await until(
      async () => (refused = (await timelineOf(stack, id)).length - 2) === (batch + 1) * 100,
      () => `all signals are refused: ${refused} of ${(batch + 1) * 100}`,
      120_000,
    );
    // Signals that arrive while it continues as new make it start again, with all of their refusals.
    await until(async () => !(await workflow(id).describe()).raw.pendingWorkflowTask, 'its last task ends');
  }
  expect((await stack.api.progress(id, 'approved')).body.data.status).toBe('APPROVED');
  expect(await isRunning(stack.client, id)).toBe(true);
}, 600_000);
