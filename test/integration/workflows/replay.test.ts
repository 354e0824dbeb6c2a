import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { temporal } from '@temporalio/proto';
import { Worker } from '@temporalio/worker';
import { PACKAGE_ROOT } from '../../../tools/package-root';
import { WORKFLOW_BUNDLE } from '../../../src/temporal/workflow-bundle';
import { installTemporalRuntime } from '../../../src/temporal/runtime';
import { log } from '../../support/stack';

const FOLDER = path.join(PACKAGE_ROOT, 'test/histories');
const files = readdirSync(FOLDER).filter((file) => file.endsWith('.json'));
const read = (file: string): any => JSON.parse(readFileSync(path.join(FOLDER, file), 'utf8'));
const replay = (history: unknown) =>
  Worker.runReplayHistory(
    { workflowBundle: { codePath: WORKFLOW_BUNDLE } },
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

test('the replay of a history that the code cannot have made fails', async () => {
  const history = read(files.find((file) => file.endsWith('successful.json'))!);
  const scheduled = history.events.filter((event: any) => event.activityTaskScheduledEventAttributes);
  scheduled[0].activityTaskScheduledEventAttributes.activityType.name = 'somethingElse';
  await expect(replay(history)).rejects.toThrow(/nondeterminism|TMPRL1100/i);
});
