import { Metadata } from '@grpc/grpc-js';
import { ServiceError } from '@temporalio/client';
import { formatError } from '../../../src/cli/cli-error';

test('an error of a call to Temporal is printed with its cause', () => {
  const metadata = new Metadata();
  const details = 'Deadline exceeded after 60.001s';
  const cause = Object.assign(new Error(`4 DEADLINE_EXCEEDED: ${details}`), { code: 4, details, metadata });
  expect(formatError(new ServiceError('Failed to list workflows', { cause }))).toBe(
    'Failed to list workflows (4 DEADLINE_EXCEEDED: Deadline exceeded after 60.001s)',
  );
});
