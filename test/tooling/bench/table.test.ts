import { selfTimes } from '../../bench/self-times';
import { type Row, compare, meetsGoal } from '../../bench/section';
import { rowsTable } from '../../bench/table';

describe('a goal', () => {
  const row: Row = compare({ what: 'create', against: 'Koa', unit: 'ms' }, [3, 4, 5], [2, 2, 2]);

  test.each([
    [{ of: 'ratio', atMost: 2 }, true],
    [{ of: 'ratio', atMost: 1.9 }, false],
    [{ of: 'ratio', atLeast: 2 }, true],
    [{ of: 'value', atMost: 4 }, true],
    [{ of: 'value', atMost: 3.9 }, false],
  ] as const)('of %j is met by a ratio of 2 and a value of 4: %j', (goal, met) => {
    expect(meetsGoal({ ...row, goal })).toBe(met);
  });

  test('is shown with the ratio and its interval', () => {
    expect(rowsTable([{ ...row, goal: { of: 'ratio', atMost: 1.5 } }])).toContain(
      '| create | Koa | 4 ms | 2 ms | 2.00x (1.50 to 2.50) | at most 1.5x | **no** |',
    );
  });
});

test('self times exclude idle time, and add up all call sites of a function', () => {
  const frame = (functionName: string) => ({ functionName, scriptId: '1', url: '', lineNumber: 0, columnNumber: 0 });
  const nodes = [frame('(root)'), frame('(idle)'), frame('work'), frame('work'), frame('other')].map(
    (callFrame, index) => ({ id: index + 1, callFrame }),
  );
  const { busyMs, functions } = selfTimes({
    ...{ nodes, startTime: 0, endTime: 10_000 },
    samples: [2, 3, 4, 5],
    timeDeltas: [5000, 1000, 3000, 2000],
  });
  expect(busyMs).toBe(6);
  expect(functions).toEqual([
    { name: 'work :1', ms: 4 },
    { name: 'other :1', ms: 2 },
  ]);
});
