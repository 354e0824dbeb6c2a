import { type Receiver, arrivalKey } from './arms/receiver';
import type { Service } from './arms/service';
import { closedLoop, paced, timed } from './load';
import { percentile } from './statistics';
import type { TestSeller } from '../support/stack';

/** Times in ms, and the answers that were refused for overload. */
export interface Probes {
  cancel: number[];
  progress: number[];
  /** From the answer to a change until its webhook arrives. */
  webhook: number[];
  unavailable: number;
}

const WEBHOOK_TIMEOUT_MS = 60_000;

/** Creates open orders with a webhook URL for `probe`. */
export async function oldOrders(service: Service, seller: TestSeller, url: string, count: number): Promise<string[]> {
  const ids: string[] = [];
  const before = await service.workflows();
  await closedLoop(4, count, async () => {
    const { status, body } = await service.createFor(seller, url);
    if (status !== 201) throw new Error(`create: ${status}`);
    ids.push(body.data.id);
  });
  await service.allStarted(before + count);
  return ids;
}

/**
 * `perSecond` times a second for `seconds`: creates an order, cancels the one that was created two seconds before, and
 * reports progress on an old order and waits for its webhook.
 */
export async function probe(
  service: Service,
  seller: TestSeller,
  receiver: Receiver,
  old: string[],
  { perSecond, seconds }: { perSecond: number; seconds: number },
): Promise<Probes> {
  const probes: Probes = { cancel: [], progress: [], webhook: [], unavailable: 0 };
  const created = new Map<number, string>();
  await paced(perSecond, perSecond * seconds, async (index) => {
    const create = service.createFor(seller).then(({ status, body }) => {
      if (status === 201) created.set(index, body.data.id);
    });
    const fresh = created.get(index - 2 * perSecond);
    await Promise.all([
      fresh === undefined ? undefined : cancelOnce(service, seller, fresh, probes),
      progressOnce(service, receiver, old.pop(), probes),
      create,
    ]);
  });
  return probes;
}

async function cancelOnce(service: Service, seller: TestSeller, id: string, probes: Probes): Promise<void> {
  let status = 0;
  probes.cancel.push(await timed(async () => ({ status } = await service.cancel(id, seller))));
  if (status !== 200) probes.unavailable += 1;
}

async function progressOnce(
  service: Service,
  receiver: Receiver,
  id: string | undefined,
  probes: Probes,
): Promise<void> {
  if (id === undefined) return;
  let status = 0;
  probes.progress.push(await timed(async () => ({ status } = await service.progress(id, 'signup_started'))));
  if (status !== 200) {
    probes.unavailable += 1;
    return;
  }
  const answered = performance.now();
  await receiver.allArrived([id], 1, WEBHOOK_TIMEOUT_MS).catch(() => undefined);
  const arrival = receiver.arrivals.get(arrivalKey(id, 1)) ?? answered + WEBHOOK_TIMEOUT_MS;
  probes.webhook.push(Math.max(arrival - answered, 0));
}

export const p50 = (values: readonly number[]): number => percentile(values, 0.5);
export const p99 = (values: readonly number[]): number => percentile(values, 0.99);
