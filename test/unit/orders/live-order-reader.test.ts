import type { Order } from '../../../src/domain/order';
import { createLiveOrderReader } from '../../../src/orders/live-order-reader';
import type { OrderWorkflows } from '../../../src/temporal/order-workflows';

const BUDGET_MS = 150;
const ROW = { id: 'order', version: 2, status: 'PENDING' } as Order;

const MATCHING = { running: true, completed: false, stuck: false, orderStatus: 'PENDING' };
const DIFFERENT = { ...MATCHING, orderStatus: 'APPROVED' };
const CLOSED = { ...MATCHING, running: false };

const late = () => Promise.reject(new Error('deadline exceeded'));
const saved = (version: number) => () => Promise.resolve({ saved: { order: { version } } });

function readerOf(described: unknown, history: () => Promise<unknown> = late) {
  const describeRun = jest.fn(() => Promise.resolve(described));
  const inspect = jest.fn<Promise<unknown>, [orderId: string, timeoutMs: number]>(history);
  const check = jest.fn();
  const workflows = { describe: describeRun, inspect } as unknown as OrderWorkflows;
  return { reader: createLiveOrderReader(workflows, BUDGET_MS, check), describeRun, inspect, check };
}

test('a running workflow with the status of the row confirms the row without its history', async () => {
  const { reader, inspect, check } = readerOf(MATCHING);
  expect(await reader.read(ROW)).toBe(ROW);
  expect([inspect, check].map(({ mock }) => mock.calls)).toEqual([[], []]);
});

test.each([
  ['a closed one with the state of the row', CLOSED, saved(2), { version: 2 }],
  ['a closed one that knew of a newer state', CLOSED, saved(3), { version: 3 }],
  ['a closed one whose history cannot be read in time', CLOSED, late, undefined],
  ['a running one with a newer state', DIFFERENT, saved(3), { version: 3 }],
  ['none', undefined, late, undefined],
])('an open order whose newest workflow run is %s is checked', async (_, described, history, state) => {
  const { reader, check } = readerOf(described, history);
  expect(await reader.read(ROW)).toEqual(state);
  expect(check).toHaveBeenCalledWith(ROW);
});

test.each([
  ['whose history has only the version before', saved(1), { version: 1 }],
  ['whose history has the version of the row', saved(2), { version: 2 }],
  ['whose history cannot be read in time', late, undefined],
])('a running workflow with another status, %s, is left alone', async (_, history, state) => {
  const { reader, check } = readerOf(DIFFERENT, history);
  expect(await reader.read(ROW)).toEqual(state);
  expect(check).not.toHaveBeenCalled();
});

test('a history is read in what is left of the budget', async () => {
  const { reader, describeRun, inspect } = readerOf(CLOSED);
  const now = jest.spyOn(Date, 'now').mockReturnValue(0);
  describeRun.mockImplementation(() => {
    now.mockReturnValue(60);
    return Promise.resolve(CLOSED);
  });
  await reader.read(ROW);
  expect(inspect).toHaveBeenCalledWith('order', BUDGET_MS - 60);
  now.mockRestore();
});

test('histories that cannot be read in time do not keep other reads from asking Temporal', async () => {
  const { reader, describeRun } = readerOf(CLOSED);
  for (let reads = 0; reads < 6; reads += 1) expect(await reader.read(ROW)).toBeUndefined();
  describeRun.mockResolvedValue(MATCHING);
  expect(await reader.read(ROW)).toBe(ROW);
});

test('calls that end too late keep all but one read in two seconds from asking Temporal', async () => {
  const now = jest.spyOn(Date, 'now').mockReturnValue(0);
  const { reader, describeRun } = readerOf(undefined);
  describeRun.mockImplementation(late);
  for (let reads = 0; reads < 6; reads += 1) expect(await reader.read(ROW)).toBeUndefined();
  expect(describeRun).toHaveBeenCalledTimes(5);
  now.mockReturnValue(2000);
  for (let reads = 0; reads < 2; reads += 1) expect(await reader.read(ROW)).toBeUndefined();
  expect(describeRun).toHaveBeenCalledTimes(6);
  now.mockRestore();
});
