import { verifyWebhook } from '../../packages/client/src/verify-webhook';
import { runCli } from '../support/cli';
import { openOrder } from '../support/orders';
import { killProcesses } from '../support/processes';
import { useReceiver } from '../support/receiver';
import { startService } from '../support/service';
import { useStack } from '../support/stack';
import { until } from '../support/until';

jest.setTimeout(600_000);

// The processes end before the stack drops its database.
afterAll(() => killProcesses());
const stack = useStack({ worker: false, env: { UPDATE_TIMEOUT_MS: '60000' } });
const receiver = useReceiver();

/** As docs/operators/security.md describes, except for the removal of the old key: open histories need it. */
test('an encryption key is replaced while orders are open, and Postgres no longer uses the old one', async () => {
  const newKey = async () => (await runCli(['encryption', 'new-key'])).stdout.trim();
  const [first, second] = [await newKey(), await newKey()];
  const idOf = (key: string) => key.split(':')[0];
  const rotate = async (ENCRYPTION_KEYS: string) => {
    const env = { ...stack.env, ENCRYPTION_KEYS };
    expect((await runCli(['encryption', 'rotate', '--json'], env)).json().encrypted).toBeGreaterThan(0);
    return (await runCli(['encryption', 'show', '--json'], env)).json();
  };
  /** The restarts of the page, each with what is done while those processes run. */
  const steps: [keys: string, then?: () => Promise<void>][] = [
    [''],
    [`plain,${first}`],
    [
      `${first},plain`,
      async () => expect(await rotate(`${first},plain`)).toEqual([expect.objectContaining({ key: idOf(first) })]),
    ],
    [`${first},${second}`],
    [
      `${second},${first}`,
      async () =>
        expect(await rotate(`${second},${first}`)).toEqual([
          expect.objectContaining({ key: idOf(second), encrypts: true }),
        ]),
    ],
  ];
  const opened: string[] = [];
  const whole = ['signup_started', 'approved', 'completed'];
  const remaining = new Map<string, string[]>();
  for (const [keys, then] of steps) {
    const service = await startService(stack, {
      ENCRYPTION_KEYS: keys,
      ENCRYPT_PAYLOADS: String(!/^(plain|$)/.test(keys)),
    });
    const id = await openOrder({ ...stack, api: service.api }, { webhook_url: receiver.url });
    opened.push(id);
    remaining.set(id, [...whole]);
    // Orders of all earlier steps continue, whatever key their histories were written with.
    for (const [order, events] of remaining) {
      const event = events.shift();
      if (event) expect(await service.api.progress(order, event)).toMatchObject({ status: 200 });
    }
    await then?.();
    await until(() => received() === sent(), 'the webhooks of this step have arrived');
    await service.stop();
  }
  for (const delivery of receiver.deliveries) {
    expect(() => verifyWebhook(delivery.text, delivery.headers, stack.seller.webhookSecret)).not.toThrow();
  }

  function received(): number {
    return new Set(receiver.deliveries.map(({ headers }) => headers['webhook-id'])).size;
  }
  function sent(): number {
    return [...remaining.values()].reduce((sum, events) => sum + whole.length - events.length, 0);
  }
});
