import type { WorkflowHandle } from '@temporalio/client';

/** Everything that Temporal stores about a run, as text: its history and its description, with each payload decoded. */
export async function storedText(handle: WorkflowHandle): Promise<string> {
  const [history, { raw }] = await Promise.all([handle.fetchHistory(), handle.describe()]);
  return JSON.stringify(decode([history, raw]));
}

/** Bytes become text. JSON.stringify alone would use the messages' own toJSON, which encodes bytes as base64. */
function decode(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString();
  if (Array.isArray(value)) return value.map(decode);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, decode(child)]));
}
