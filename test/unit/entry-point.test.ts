import { runUntilSignalled } from '../../src/entry-point';

afterEach(() => {
  jest.useRealTimers();
  jest.restoreAllMocks();
});

/** Runs an entry point with one part whose stop never ends, and sends it SIGTERM. `repeat` sends it again. */
async function stopForEver(stopsWithinMs?: number): Promise<{ kill: jest.SpyInstance; repeat: () => void }> {
  jest.useFakeTimers();
  jest.spyOn(console, 'error').mockReturnValue();
  const kill = jest.spyOn(process, 'kill').mockReturnValue(true);
  const listeners: Record<string, () => void> = {};
  jest.spyOn(process, 'on').mockImplementation((event, listener) => {
    listeners[String(event)] = () => listener(event);
    return process;
  });
  const stop = () => new Promise<void>(() => undefined);
  await runUntilSignalled((started) => {
    started(stopsWithinMs === undefined ? { stop } : { stop, stopsWithinMs });
    return Promise.resolve();
  });
  const repeat = listeners['SIGTERM']!;
  repeat();
  return { kill, repeat };
}

test.each([
  ['states no time to stop', undefined, 20_000],
  ['may take 600,000 ms to stop', 600_000, 620_000],
])('a process whose part %s is not killed before its time', async (_part, allowed, killed) => {
  const { kill } = await stopForEver(allowed);
  jest.advanceTimersByTime(killed - 1);
  expect(kill).not.toHaveBeenCalled();
  jest.advanceTimersByTime(1);
  expect(kill).toHaveBeenCalledWith(process.pid, 'SIGKILL');
});

test('a second signal ends the process, unless it is the first one again, which npm has passed on', async () => {
  const exit = jest.spyOn(process, 'exit').mockReturnValue(undefined as never);
  const { repeat } = await stopForEver();
  repeat();
  expect(exit).not.toHaveBeenCalled();
  jest.advanceTimersByTime(1001);
  repeat();
  expect(exit).toHaveBeenCalledWith(143);
});
