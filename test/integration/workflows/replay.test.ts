import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { PACKAGE_ROOT } from '../../../src/package';
import { WORKFLOW_BUNDLES } from '../../../src/temporal/workflow-bundle';
import { installTemporalRuntime } from '../../../src/temporal/runtime';
import { useFolder } from '../../support/folder';
import { SCENARIOS } from '../../support/record-histories';
import { replay } from '../../support/replay';
import { log } from '../../support/stack';

const FOLDER = path.join(PACKAGE_ROOT, 'test/histories');
const files = readdirSync(FOLDER).filter((file) => file.endsWith('.json'));
const read = (file: string): any => JSON.parse(readFileSync(path.join(FOLDER, file), 'utf8'));

beforeAll(() => installTemporalRuntime(log, undefined));

test.each(SCENARIOS)('there is a recorded history of the scenario %s', (name) => {
  expect(files.filter((file) => file.endsWith(`-${name}.json`))).not.toEqual([]);
});

test.each(files)('the history %s replays on the current workflow code', async (file) => {
  await replay(read(file), WORKFLOW_BUNDLES[file.includes('-checkout-') ? 'checkout' : 'orders']);
});

describe('a change of the workflow code that breaks old runs fails the replay', () => {
  const folder = useFolder();
  const SAVE = 'const { webhook } = await saveChange.';

  test.each([
    ['an activity has another name', 'const { sendWebhook,', 'const { deliverWebhook: sendWebhook,'],
    ['a timer comes before a save', SAVE, `await new Promise((resolve) => setTimeout(resolve, 1)); ${SAVE}`],
    ['an upsert is left out', /\(0, \w+\.upsertSearchAttributes\)\(/, '(() => undefined)('],
  ])('if %s', async (_, before, after) => {
    const code = readFileSync(WORKFLOW_BUNDLES.orders, 'utf8');
    const changed = code.replace(before, after);
    expect(changed === code).toBe(false);
    const codePath = path.join(folder, 'changed.js');
    writeFileSync(codePath, changed);
    const history = read(files.find((file) => file.endsWith('-successful.json'))!);
    await expect(replay(history, codePath)).rejects.toThrow(/nondeterminism|TMPRL1100/i);
  });
});
