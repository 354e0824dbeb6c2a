import { ServiceError } from '@temporalio/client';
import { formatError } from '../../../src/cli/cli-error';

test('an error of a call to Temporal is printed with its cause', () => {
  const cause = new Error('4 DEADLINE_EXCEEDED: Deadline exceeded after 60.001s');
  expect(formatError(new ServiceError('Failed to list workflows', { cause }))).toBe(
    'Failed to list workflows (4 DEADLINE_EXCEEDED: Deadline exceeded after 60.001s)',
  );
});
