import { runUntilSignalled } from '../../src/entry-point';

afterEach(() => {
  jest.useRealTimers();
  jest.restoreAllMocks();
});

/** Runs an entry point with one part whose stop never ends, and sends it SIGTERM. */
async function stopForEver(stopsWithinMs?: number): Promise<jest.SpyInstance> {
  jest.useFakeTimers();
  jest.spyOn(console, 'error').mockReturnValue();
  const kill = jest.spyOn(process, 'kill').mockReturnValue(true);
  const listeners: Record<string, () => void> = {};
  jest.spyOn(process, 'on').mockImplementation((event, listener) => {
    listeners[String(event)] = listener as () => void;
    return process;
  });
  const stop = () => new Promise<void>(() => undefined);
  await runUntilSignalled((started) => {
    started(stopsWithinMs === undefined ? { stop } : { stop, stopsWithinMs });
    return Promise.resolve();
  });
  listeners['SIGTERM']!();
  return kill;
}

test.each([
  ['states no time to stop', undefined, 20_000],
  ['may take 600,000 ms to stop', 600_000, 620_000],
])('a process whose part %s is not killed before its time', async (_part, allowed, killed) => {
  const kill = await stopForEver(allowed);
  jest.advanceTimersByTime(killed - 1);
  expect(kill).not.toHaveBeenCalled();
  jest.advanceTimersByTime(1);
  expect(kill).toHaveBeenCalledWith(process.pid, 'SIGKILL');
});
