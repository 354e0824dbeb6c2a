import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { temporal } from '@temporalio/proto';
import { Worker } from '@temporalio/worker';
import { PACKAGE_ROOT } from '../../../tools/package-root';
import { TRACED_WORKFLOW_BUNDLE, WORKFLOW_BUNDLE } from '../../../src/temporal/workflow-bundle';
import { installTemporalRuntime } from '../../../src/temporal/runtime';
import { log } from '../../support/stack';

const FOLDER = path.join(PACKAGE_ROOT, 'test/histories');
const files = readdirSync(FOLDER).filter((file) => file.endsWith('.json'));
const read = (file: string): any => JSON.parse(readFileSync(path.join(FOLDER, file), 'utf8'));
const replay = (history: unknown, codePath = WORKFLOW_BUNDLE) =>
  Worker.runReplayHistory(
    { workflowBundle: { codePath }, sinks: { exporter: { export: { fn: () => undefined } } } },
    temporal.api.history.v1.History.fromObject(history as Record<string, unknown>),
    'order-replayed',
  );

beforeAll(() => installTemporalRuntime(log, undefined));

test('there is a recorded history of each scenario', () => {
  expect(files.length).toBeGreaterThanOrEqual(9);
});

test.each(files)('the history %s replays on the current workflow code', async (file) => {
  await replay(read(file));
});

test.each(files)('the history %s, of a run without tracing, replays with tracing', async (file) => {
  await replay(read(file), TRACED_WORKFLOW_BUNDLE);
});

test('the replay of a history that the code cannot have made fails', async () => {
  const history = read(files.find((file) => file.endsWith('successful.json'))!);
  const scheduled = history.events.filter((event: any) => event.activityTaskScheduledEventAttributes);
  scheduled[0].activityTaskScheduledEventAttributes.activityType.name = 'somethingElse';
  await expect(replay(history)).rejects.toThrow(/nondeterminism|TMPRL1100/i);
});
