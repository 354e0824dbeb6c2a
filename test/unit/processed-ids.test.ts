import { readFileSync } from 'node:fs';
import path from 'node:path';
import { MAX_ENDPOINT_WAIT } from '../../src/db/webhook-events';
import { STANDARD_SCHEDULE, retryDelay } from '../../src/domain/retry-schedule';
import { MAX_RETRY_AFTER_MS } from '../../src/webhooks/retry-after';
import { PACKAGE_ROOT } from '../../src/package';

const DAY = 24 * 3_600_000;

test('docs/webhooks.md makes receivers keep processed ids for longer than any webhook is retried', () => {
  const page = readFileSync(path.join(PACKAGE_ROOT, 'docs/webhooks.md'), 'utf8');
  expect(/Keep processed ids for at least (\w+ \w+)/.exec(page)?.[1]).toBe('two weeks');
  // All attempts after the longest wait for a silent endpoint, each after the longest Retry-After.
  const waits = STANDARD_SCHEDULE.delaysMs.slice(1).map((_, index) =>
    retryDelay(STANDARD_SCHEDULE, {
      attempt: index + 1,
      hasSuccessor: false,
      retryAfterMs: MAX_RETRY_AFTER_MS,
      random: 1 - Number.EPSILON,
    }),
  );
  const [, days] = /^(\d+) days$/.exec(MAX_ENDPOINT_WAIT)!;
  const longest = waits.reduce<number>((sum, wait) => sum + wait!, Number(days) * DAY);
  expect(longest / DAY).toBeGreaterThan(13);
  expect(longest / DAY).toBeLessThan(14);
});
