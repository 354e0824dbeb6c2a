import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { createTemporalClient } from '../../src/temporal/connection';
import { ensureNamespace } from '../../src/temporal/server';
import { markdownTable } from '../bench/table';
import { type Cleanup, endWith } from '../chaos/cleanup';
import { until } from '../support/until';
import { ADDRESSES, CUTS, type Cut, cut, openNetwork, reconnect } from './network';
import { startPostgresPair, temporalPart } from './servers';

const EVERY_MS = 60;
const DEADLINE_MS = 4000;
const SETTLE_MS = 12_000;
const FAULT_MS = 40_000;
const RETURN_MS = 25_000;

interface Start {
  at: number;
  endedAt: number;
  failed: boolean;
}

/** Breaks one of two Temporal hosts while workflows are started at the other one, and prints which starts failed. Needs little processor time. */
export async function printTemporalAlone(cleanup: Cleanup, folder: string): Promise<void> {
  openNetwork();
  const pair = await startPostgresPair(folder, false);
  const [host1, host2] = [temporalPart(folder, 'host1', pair), temporalPart(folder, 'host2', pair)];
  for (const part of [pair.primary, pair.replica, host1, host2]) endWith(cleanup, part);
  await host1.start();
  await host2.start();
  const client = createTemporalClient({
    connectionOptions: { address: `${ADDRESSES.host1}:7233` },
    namespace: 'alone',
  });
  cleanup.add(() => client.connection.close());
  const create = (): Promise<boolean> =>
    ensureNamespace(client).then(
      () => true,
      () => false,
    );
  await until(create, 'Temporal creates a namespace');
  await delay(SETTLE_MS);
  const cuts = Object.keys(CUTS).map((how) => ({
    fault: `cut: ${how}`,
    begin: async () => Promise.resolve().then(() => cut('host2', how as Cut)),
    end: async () => Promise.resolve().then(() => reconnect('host2')),
  }));
  const signals = (['SIGKILL', 'SIGTERM'] as const).map((signal) => ({
    ...{ fault: signal, begin: () => host2.end(signal), end: () => host2.start() },
  }));
  const rows: string[][] = [];
  for (const { fault, begin, end } of [...signals, ...cuts]) {
    rows.push(
      [fault, ...(await watch(client, FAULT_MS, begin))],
      ['its return', ...(await watch(client, RETURN_MS, end))],
    );
  }
  const within = `failed within ${DEADLINE_MS / 1000} s`;
  console.log(
    markdownTable(
      ['host 2', 'starts', within, 'the last of them began after, s', 'the last above 1 s began after, s'],
      rows,
    ),
  );
}

async function watch(client: Client, ms: number, act: () => Promise<unknown>): Promise<string[]> {
  const from = performance.now();
  const starts: Promise<Start>[] = [];
  const acting = act();
  while (performance.now() < from + ms) {
    starts.push(startOne(client));
    await delay(EVERY_MS);
  }
  await acting;
  const all = await Promise.all(starts);
  const last = (some: Start[]): string => (some.length === 0 ? '–' : ((some.at(-1)!.at - from) / 1000).toFixed(1));
  const failed = all.filter((one) => one.failed);
  const slow = all.filter(({ at, endedAt }) => endedAt - at > 1000);
  return [String(all.length), String(failed.length), last(failed), last(slow)];
}

let count = 0;

/** Each id is in another shard: half of them are those of the broken host. */
async function startOne(client: Client): Promise<Start> {
  const at = performance.now();
  const options = { taskQueue: 'none', workflowId: `alone-${count++}`, args: [] };
  const start = (): Promise<unknown> => client.workflow.start('none', options);
  const failed = await client.withDeadline(Date.now() + DEADLINE_MS, start).then(
    () => false,
    () => true,
  );
  return { at, endedAt: performance.now(), failed };
}
