import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import type { Child } from './child';

/** Milliseconds that a server has to answer. */
const SERVER_LIMIT = 60_000;
const UI_LIMIT = 20_000;

/** Waits until a workflow service call goes all the way to the store; what went wrong, if that does not come. */
export function serverReady(server: Child, address: string): Promise<string | undefined> {
  return ready(server, SERVER_LIMIT, async () => {
    const connection = await Connection.connect({ address, connectTimeout: 1000 });
    try {
      await connection.withDeadline(Date.now() + 2000, () =>
        connection.workflowService.describeWorkflowExecution({
          namespace: 'temporal-system',
          execution: { workflowId: 'no-such-workflow' },
        }),
      );
    } catch (error) {
      // Said by the history service, the last to be up: the namespace is there, and no such workflow in it.
      return (error as { details?: string }).details?.includes('workflow not found') ?? false;
    } finally {
      await connection.close();
    }
    return true;
  });
}

export function uiReady(ui: Child, url: string): Promise<string | undefined> {
  return ready(ui, UI_LIMIT, async () => (await fetch(url, { signal: AbortSignal.timeout(2000) })).ok);
}

async function ready(child: Child, limit: number, answers: () => Promise<boolean>): Promise<string | undefined> {
  const deadline = Date.now() + limit;
  while (child.running()) {
    if (await answers().catch(() => false)) return undefined;
    if (Date.now() > deadline) return report(child, `no answer after ${limit / 1000} s`);
    await sleep(50);
  }
  return report(child, await child.exited);
}

function report({ log }: Child, problem: string): string {
  return `${problem}; the end of ${log.path}:\n${log.tail(2000).trim()}`;
}
