import { setTimeout as delay } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import type { Child } from './child';

/** Milliseconds within which the server and the UI must answer. */
const SERVER_LIMIT_MS = 60_000;
const UI_LIMIT_MS = 20_000;

const NAMESPACE = 'temporal-system';

/** Waits until the server can start and run workflows. Returns what went wrong if it cannot. */
export function serverReady(server: Child, address: string): Promise<string | undefined> {
  return ready(server, SERVER_LIMIT_MS, async () => {
    const connection = await Connection.connect({ address, connectTimeout: 1000 });
    try {
      return await connection.withDeadline(Date.now() + 2000, () => allServicesAnswer(connection));
    } finally {
      await connection.close();
    }
  });
}

/** True if the frontend reaches the matching and the history service, and these reach the database. */
async function allServicesAnswer({ workflowService }: Connection): Promise<boolean> {
  await workflowService.listTaskQueuePartitions({ namespace: NAMESPACE, taskQueue: { name: 'no-such-queue' } });
  try {
    await workflowService.describeWorkflowExecution({
      namespace: NAMESPACE,
      execution: { workflowId: 'no-such-workflow' },
    });
    return true;
  } catch (error) {
    return (error as { details?: string }).details?.includes('workflow not found') ?? false;
  }
}

/**
 * Waits until the UI reaches the server: it answers earlier, with pages that show an error. Returns what went wrong if
 * it does not.
 */
export function uiReady(ui: Child, url: string): Promise<string | undefined> {
  const namespaces = `${url}/api/v1/namespaces`;
  return ready(ui, UI_LIMIT_MS, async () => (await fetch(namespaces, { signal: AbortSignal.timeout(2000) })).ok);
}

async function ready(child: Child, limit: number, answers: () => Promise<boolean>): Promise<string | undefined> {
  const deadline = Date.now() + limit;
  while (child.running()) {
    if (await answers().catch(() => false)) return undefined;
    if (Date.now() > deadline) return report(child, `no answer after ${limit / 1000} s`);
    await delay(50);
  }
  return report(child, await child.exited);
}

function report({ log }: Child, problem: string): string {
  return `${problem}; the end of ${log.path}:\n${log.tail(2000).trim()}`;
}
