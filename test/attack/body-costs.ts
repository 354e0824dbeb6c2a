import { readFileSync, readdirSync } from 'node:fs';
import { BASE } from '../support/api';
import { nastyBodies } from './nasty-bodies';
import type { Target } from './target';

const BODY_BYTES = 65_536;
/** Of the processor time of a plain body. */
const MAX_RATIO = 5;
/** Calls of which the processor time is measured together, and how often: the least counts, because others disturb. */
const CALLS = 10;
const ROUNDS = 4;

/**
 * Measures the processor time that the API needs for bodies of 64 KB, and prints it as a table.
 * @returns the bodies that cost too much
 */
export async function measureBodies({ port, attackers }: Target, apiPid: number): Promise<string[]> {
  if (process.platform !== 'linux') return [];
  const { plain, nasty } = nastyBodies(BODY_BYTES);
  let calls = 0;
  async function costOf(body: string): Promise<{ ms: number; status: number }> {
    let ms = Infinity;
    let status = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const { id, keys } = attackers[calls % attackers.length]!;
      const headers = { Authorization: `Bearer ${keys[0]!}`, 'Content-Type': 'application/json' };
      const before = processorMs(apiPid);
      for (let call = 0; call < CALLS; call++, calls++) {
        const response = await fetch(`http://127.0.0.1:${port}${BASE}/seller/${id}/order/`, {
          method: 'POST',
          headers,
          body,
        });
        await response.text();
        status = response.status;
      }
      ms = Math.min(ms, (processorMs(apiPid) - before) / CALLS);
    }
    return { ms, status };
  }
  await costOf(plain);
  const { ms: plainMs, status: plainStatus } = await costOf(plain);
  console.log('\n| body of 64 KB | answer | processor time, ms | as a multiple of plain |\n|---|--:|--:|--:|');
  console.log(`| plain text | ${plainStatus} | ${plainMs.toFixed(1)} | 1.0 |`);
  const failures: string[] = [];
  for (const [name, body] of Object.entries(nasty)) {
    const { ms, status } = await costOf(body);
    const ratio = ms / plainMs;
    console.log(`| ${name} | ${status} | ${ms.toFixed(1)} | ${ratio.toFixed(1)} |`);
    if (ratio > MAX_RATIO) failures.push(`'${name}' took ${ratio.toFixed(1)} times as long as a plain body`);
    if (status >= 500) failures.push(`'${name}' got ${status}`);
  }
  return failures;
}

/** The processor time of a process and its threads until now, in ms (see proc(5)). */
function processorMs(pid: number): number {
  const tasks = readdirSync(`/proc/${pid}/task`);
  const nanoseconds = tasks.map((task) =>
    Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0]),
  );
  return nanoseconds.reduce((sum, one) => sum + one, 0) / 1e6;
}
