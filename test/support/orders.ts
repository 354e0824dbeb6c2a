import type { WorkflowOrder } from '../../src/domain/order';
import { getOrderQuery } from '../../workflows/messages';
import type { Stack } from './stack';
import { until } from './until';

/** Creates an order whose workflow runs, and takes it through `events`. */
export async function openOrder(
  { api, client }: Stack,
  data: Record<string, unknown> = {},
  events: readonly string[] = [],
): Promise<string> {
  const { body, status, text } = await api.create(data);
  if (status !== 201) throw new Error(text);
  const { id } = body.data;
  await until(() => isRunning(client, id), 'the workflow runs');
  for (const event of events) {
    const answer = await api.progress(id, event);
    if (answer.status !== 200) throw new Error(answer.text);
  }
  return id;
}

export async function isRunning(client: Stack['client'], id: string): Promise<boolean> {
  return (await statusOf(client, id)) === 'RUNNING';
}

/** The state of the newest run of an order's workflow; undefined where there is none. */
export async function statusOf(client: Stack['client'], id: string): Promise<string | undefined> {
  return client.workflow
    .getHandle(`order-${id}`)
    .describe()
    .then(
      ({ status }) => status.name,
      () => undefined,
    );
}

export function shownBy(client: Stack['client'], id: string): Promise<WorkflowOrder | null> {
  return client.workflow.getHandle(`order-${id}`).query(getOrderQuery);
}

export interface Line {
  version: number | null;
  event: string;
  from_status: string | null;
  to_status: string;
  actor: string;
  reason: string | null;
}

export async function timelineOf({ db }: Pick<Stack, 'db'>, id: string): Promise<Line[]> {
  const { rows } = await db.query<Line>(
    'select version, event, from_status, to_status, actor, reason from order_timeline where order_id = $1 order by position',
    [id],
  );
  return rows;
}

/** Every run that an order's workflow ever had. */
export async function runsOf({ client }: Pick<Stack, 'client'>, id: string): Promise<string[]> {
  const runs: string[] = [];
  for await (const { runId } of client.workflow.list({ query: `WorkflowId = "order-${id}"` })) runs.push(runId);
  return runs;
}
