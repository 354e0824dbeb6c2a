import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { exitWith } from '../support/exit-with';
import globalSetup from '../support/global-setup';
import globalTeardown from '../support/global-teardown';
import { killProcesses } from '../support/processes';
import type { Tally } from './attacker';
import type { AttackInput } from './attackers';
import { ATTACKS, makeBombs } from './attacks';
import { measureBodies } from './body-costs';
import { runInChild } from './child';
import type { Call } from './other-sellers';
import { attackersLine, type Bounds, failuresOf, headerRows, type Period, rowOf } from './report';
import { MEMORY_LIMIT_MB, type RunningTarget, type Target, startTarget } from './target';

/**
 * `npm run attack`: starts the service and attacks it, one attack at a time and then all at once, while other sellers
 * create, read and cancel orders. Prints what each attack did to them and to the memory of the processes, as a table,
 * and then what the attackers got. Before that, it measures the processor time of the most expensive bodies, also alone with
 * `--only bodies`. Fails if a body costs much more than a plain one, a process ends or uses too much memory, a valid key of the others is refused, anybody gets a 5xx other than 503, the others get too many 503s or wait too long, or an
 * attack did nothing. `--only <attack>` runs one.
 */
const FULL = { seconds: 15, calmSeconds: 8, scale: 1, afterSeconds: 3 };
const SHORT = { seconds: 6, calmSeconds: 3, scale: 0.3, afterSeconds: 1 };
/** Other sellers' calls stay below a second: invariant 10 of the design. */
const FULL_BOUNDS: Bounds = { peakMb: 768, ratio: 3, alwaysAllowedMs: 1000, busyShare: 0.01 };
/** Times in CI show the speed of its machine too: they only find attacks that hold others up for seconds. */
const SHORT_BOUNDS: Bounds = { ...FULL_BOUNDS, alwaysAllowedMs: 5000, busyShare: 0.05 };
/** All attacks at once: the attackers share the machine, and on 2 cores they alone use one. */
const TOGETHER_BOUNDS: Bounds = { ...SHORT_BOUNDS, alwaysAllowedMs: Infinity, busyShare: 0.1 };
/** The attackers are on other machines in reality, so they get what the service leaves of the processors. */
const ATTACKERS_NICENESS = 5;
const TOGETHER = 'all at once';
const BODIES = 'bodies';

const { values } = parseArgs({
  options: {
    short: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true },
  },
});
const length = values.short ? SHORT : FULL;
const bounds = values.short ? SHORT_BOUNDS : FULL_BOUNDS;

const bombs = makeBombs();

const others = (target: Target, seconds: number): Promise<Call[]> =>
  runInChild(path.join(__dirname, 'other-sellers.js'), { target, seconds });
const attackers = (input: AttackInput): Promise<Record<string, Tally>> =>
  runInChild(path.join(__dirname, 'attackers.js'), input, ATTACKERS_NICENESS);

async function attack({ target, watch, restart }: RunningTarget, name: string, names: string[]): Promise<Period> {
  const { seconds, scale } = length;
  const calm = await others(target, length.calmSeconds);
  const memory = watch();
  const [calls, tallies] = await Promise.all([
    others(target, seconds),
    attackers({ target, names, bombs, seconds: seconds - 1, scale }),
  ]);
  await delay(length.afterSeconds * 1000);
  const rssAfter = memory.now();
  const rss = memory.read();
  const died = await restart();
  const period = { name, calm, calls, tallies, rss, rssAfter, died };
  console.log(rowOf(period));
  return period;
}

async function run(): Promise<number> {
  await globalSetup();
  let running: RunningTarget | undefined;
  try {
    running = await startTarget(Object.keys(ATTACKS).length);
    const { target } = running;
    await attackers({ target, names: [], bombs, seconds: 60, scale: 1 });
    await others(target, length.calmSeconds);
    const bodies = values.only && !values.only.includes(BODIES) ? [] : await measureBodies(target, running.apiPid());
    const names = values.only?.filter((name) => name !== BODIES) ?? Object.keys(ATTACKS);
    const periods: Period[] = [];
    console.log(`\nOther sellers' times in ms. RSS in MB before, at its peak, after; limit ${MEMORY_LIMIT_MB} MB.\n`);
    console.log(headerRows());
    for (const name of names) periods.push(await attack(running, name, [name]));
    if (names.length > 1) periods.push(await attack(running, TOGETHER, names));
    console.log(`\nThe attackers got:\n\n${periods.map(attackersLine).join('\n')}\n`);
    const failures = [
      ...bodies,
      ...periods.flatMap((period) => failuresOf(period, period.name === TOGETHER ? TOGETHER_BOUNDS : bounds)),
    ];
    for (const failure of failures) console.log(`failed: ${failure}`);
    return failures.length > 0 ? 1 : 0;
  } finally {
    running?.stop();
    await killProcesses();
    await globalTeardown();
  }
}

exitWith(run());
