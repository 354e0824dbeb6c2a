const MAX_QUERIES = 4;

interface Lookup<T> {
  key: string;
  resolve: (found: T) => void;
  reject: (error: unknown) => void;
}

/**
 * Returns a function that looks up a key. While the maximum number of queries runs, further keys wait and share the
 * next query, so that a flood of unknown keys neither occupies the connections nor delays others.
 * @param query returns what belongs to each of the keys, in their order
 */
export function batchLookups<T>(
  query: (keys: readonly string[]) => Promise<readonly T[]>,
): (key: string) => Promise<T> {
  let running = 0;
  let waiting: Lookup<T>[] = [];

  async function run(): Promise<void> {
    running++;
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      try {
        const found = await query(batch.map(({ key }) => key));
        batch.forEach(({ resolve }, index) => resolve(found[index] as T));
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    running--;
  }

  return (key) =>
    new Promise((resolve, reject) => {
      waiting.push({ key, resolve, reject });
      if (running < MAX_QUERIES) void run();
    });
}
