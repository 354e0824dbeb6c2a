export type Scope = 'file' | 'test';

/**
 * Starts a resource before the tests of a file, or of a `describe` block, and stops it after them. With scope `test`
 * every test gets its own. The returned object has its fields once the `beforeAll` (or `beforeEach`) hook has run. Jest
 * runs `afterAll` hooks in the order of their definition, so a resource must be declared after those that use it when
 * they stop.
 */
export function useResource<T extends object>(
  start: () => Promise<T>,
  stop: (resource: T) => Promise<unknown>,
  scope: Scope = 'file',
): T {
  const resource = {} as T;
  const [before, after] = scope === 'file' ? [beforeAll, afterAll] : [beforeEach, afterEach];
  let starting: Promise<T> | undefined;
  before(async () => {
    starting = start();
    Object.assign(resource, await starting);
  });
  after(async () => {
    // If the start has timed out, this waits for it, so that nothing outlives the tests.
    const started = await starting?.catch(() => undefined);
    if (started) await stop(started);
  });
  return resource;
}
