import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import path from 'node:path';
import pino from 'pino';
import { finishAction, insertAction, logActions } from '../../../src/db/operator-actions';
import { PACKAGE_ROOT } from '../../../src/package';
import { registry } from '../../../src/telemetry/metrics';
import { reportOperatorAction } from '../../../src/telemetry/report';
import { useDatabase } from '../../support/database';
import { until } from '../../support/until';
import { parseMetrics } from '../../support/prometheus';

const database = useDatabase('test');

async function start(age = '0 s'): Promise<string> {
  const id = randomUUID();
  await insertAction(database.db, { id, operator: 'jo', command: 'order cancel', arguments: {} });
  await database.db.query('update operator_action set at = now() - $1::interval', [age]);
  return id;
}

/** Logs what is to be logged, as a worker does, and returns the outcomes. */
async function logOutcomes(): Promise<string[]> {
  const outcomes: string[] = [];
  await logActions(database.db, 10, (actions) => {
    for (const action of actions) reportOperatorAction(pino({ level: 'silent' }), action);
    outcomes.push(...actions.map(({ outcome }) => outcome));
    return Promise.resolve();
  });
  return outcomes;
}

async function counted(): Promise<number> {
  return parseMetrics(await registry.metrics()).value('order_service_operator_actions_total');
}

test('an action is logged once, when it has ended', async () => {
  const id = await start();
  expect(await logOutcomes()).toEqual([]);
  await finishAction(database.db, id, 'refused');
  expect([await logOutcomes(), await logOutcomes()]).toEqual([['failed'], []]);
});

test('an action whose log line may be lost is logged again', async () => {
  await finishAction(database.db, await start(), null);
  const lost = logActions(database.db, 10, () => Promise.reject(new Error('the worker is killed')));
  await expect(lost).rejects.toThrow('the worker is killed');
  expect(await logOutcomes()).toEqual(['succeeded']);
});

test('an action that takes longer than a minute is logged as started, logged again when it ends, and counted once', async () => {
  const before = await counted();
  const id = await start('61 s');
  expect([await logOutcomes(), await logOutcomes()]).toEqual([['started'], []]);
  expect((await counted()) - before).toBe(0);
  await finishAction(database.db, id, null);
  expect([await logOutcomes(), await logOutcomes()]).toEqual([['succeeded'], []]);
  expect((await counted()) - before).toBe(1);
});

test('the log is flushed once its lines are written, however slow their reader is', async () => {
  const folder = path.join(PACKAGE_ROOT, 'dist/src');
  const script = `
    process.chdir(${JSON.stringify(folder)});
    const log = require(path.resolve('logger.js')).createLogger('info', 'test');
    const { flushLog } = require(path.resolve('telemetry/report.js'));
    for (let line = 0; line < 4000; line++) log.info({ text: 'x'.repeat(100) });
    flushLog(log, 60_000).then(() => process.stderr.write('flushed'), (error) => process.stderr.write(String(error)));
    setTimeout(() => process.stderr.write('later'), 200);`;
  const child = spawn(process.execPath, ['-e', script]);
  const exited = once(child, 'exit');
  let stderr = '';
  child.stderr.on('data', (chunk) => (stderr += String(chunk)));
  await until(() => stderr !== '', 'the child writes');
  expect(stderr).toBe('later');
  child.stdout.resume();
  await until(() => stderr === 'laterflushed', 'the lines are written');
  await exited;
});
