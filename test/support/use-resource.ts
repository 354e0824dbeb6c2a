/**
 * Starts a resource before the tests of a file, or of a `describe` block, and stops it after them. With scope `test` every
 * test gets its own. The returned object has its fields once the `beforeAll` (or `beforeEach`) hook has run.
 */
export function useResource<T extends object>(
  start: () => Promise<T>,
  stop: (resource: T) => Promise<unknown>,
  scope: 'file' | 'test' = 'file',
): T {
  const resource = {} as T;
  const [before, after] = scope === 'file' ? [beforeAll, afterAll] : [beforeEach, afterEach];
  let started: T | undefined;
  before(async () => {
    started = await start();
    Object.assign(resource, started);
  });
  after(async () => {
    if (started) await stop(started);
    started = undefined;
  });
  return resource;
}
