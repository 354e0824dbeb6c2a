import type { Profiler } from 'node:inspector';
import { PACKAGE_ROOT } from '../../src/package';

/** Adds up the time in which each function itself ran. */
export function selfTimes({ nodes, samples = [], timeDeltas = [] }: Profiler.Profile) {
  const names = new Map(nodes.map(({ id, callFrame }) => [id, describe(callFrame)]));
  const times = new Map<string, number>();
  samples.forEach((id, index) => {
    const name = names.get(id)!;
    times.set(name, (times.get(name) ?? 0) + timeDeltas[index]! / 1000);
  });
  times.delete('(idle)');
  times.delete('(root)');
  const functions = [...times].map(([name, ms]) => ({ name, ms })).sort((a, b) => b.ms - a.ms);
  return { busyMs: functions.reduce((sum, { ms }) => sum + ms, 0), functions };
}

function describe({ functionName, url, lineNumber }: Profiler.Profile['nodes'][number]['callFrame']): string {
  if (functionName.startsWith('(')) return functionName;
  const file = url.replace(/^file:\/\//, '').replace(`${PACKAGE_ROOT}/`, '');
  return `${functionName || '(anonymous)'} ${file}:${lineNumber + 1}`;
}
