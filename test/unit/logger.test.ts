import { openSync } from 'node:fs';
import { createLineWriter, createLogger } from '../../src/logger';
import { registry } from '../../src/telemetry/metrics';

const droppedLines = async (): Promise<number> =>
  Number(/^order_service_dropped_log_lines_total (\d+)/m.exec(await registry.metrics())?.[1]);

test('a log line contains no character that could control a terminal or change the direction of text', () => {
  const lines: string[] = [];
  const log = createLogger('info', 'test', { write: (line) => void lines.push(line) });
  const hostile = '\u009b2J\u0007\u202egnp\u2066\u200e\u061c\u2028\u0085\u007f\n\u001b[2J';
  log.info({ reference: hostile, err: new Error(hostile), [hostile]: 1 }, hostile);
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(/^[^\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]*\n$/u);
  expect(JSON.parse(lines[0]!)).toMatchObject({ reference: hostile, msg: hostile, [hostile]: 1 });
});

test('a line about a refused row has its constraint, and none of its values', () => {
  const lines: string[] = [];
  const log = createLogger('info', 'test', { write: (line) => void lines.push(line) });
  const detail = 'Failing row contains (1, https://shop.example/pay/3f2a, ann@shop.example).';
  const refused = Object.assign(new Error('violates check constraint "amount"'), {
    ...{ code: '23514', constraint: 'amount', detail, where: detail, internalQuery: detail },
  });
  log.error({ err: refused }, 'request failed');
  expect(lines[0]).not.toContain('shop.example');
  expect(JSON.parse(lines[0]!).err).toMatchObject({ code: '23514', constraint: 'amount', message: refused.message });
});

test('an err that is no error is logged as it is', () => {
  const lines: string[] = [];
  const log = createLogger('info', 'test', { write: (line) => void lines.push(line) });
  for (const err of ['a reason', 7, null, { code: 'X', detail: 'ann@shop.example' }]) log.info({ err }, 'failed');
  expect(lines.map((line) => (JSON.parse(line) as { err: unknown }).err)).toEqual(['a reason', 7, null, { code: 'X' }]);
});

/** Writes lines and returns the error of the flush, with how many were dropped meanwhile. */
async function writeTo(fd: number, ...lines: string[]) {
  const writer = createLineWriter(fd);
  const before = await droppedLines();
  for (const line of lines) writer.write(line);
  const error = await new Promise<Error | null | undefined>((resolve) => writer.flush(resolve));
  return { error, dropped: (await droppedLines()) - before };
}

test.each([
  ['a full disk', () => openSync('/dev/full', 'w')],
  // No process has as many open files.
  ['a closed file', () => 999_999],
])('lines that cannot be written because of %s are dropped and counted', async (_, open) => {
  const { error, dropped } = await writeTo(open(), 'one\n', 'two\n');
  expect([error?.message, dropped]).toEqual(['log lines were dropped', 2]);
});
