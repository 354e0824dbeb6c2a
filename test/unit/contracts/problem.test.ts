import { Problem, problemSchema } from '../../../src/contracts/problem';
import { PROBLEMS } from '../../../src/contracts/problem-table';

const strict = problemSchema.strict();

test.each(Object.entries(PROBLEMS))('the body of %s has the common form of all errors', (code, { status, title }) => {
  const problem = new Problem(code as keyof typeof PROBLEMS, 'What happened.');
  expect(problem.status).toBe(status);
  const body = problem.toBody('/order/1/', 'request-1', 'https://orders.example');
  expect(problem.toBody('/order/1/', 'request-1')).toEqual({ ...body, type: `/docs/errors/#${code}` });
  expect(body).toEqual({
    type: `https://orders.example/docs/errors/#${code}`,
    title,
    status,
    detail: 'What happened.',
    instance: '/order/1/',
    code,
    request_id: 'request-1',
    errors: [{ code, detail: 'What happened.' }],
  });
  expect(strict.safeParse(body).error).toBeUndefined();
});

test('a problem with its own errors and members shows them instead of the default', () => {
  const errors = [{ code: 'too_small' as const, detail: 'must be greater than 0', pointer: '/data/amount' }];
  const problem = new Problem('duplicate_reference', 'Taken.', { errors, members: { order_id: 'x', order_url: 'y' } });
  const body = problem.toBody('/', 'r');
  expect(body).toMatchObject({ errors, order_id: 'x', order_url: 'y' });
  expect(strict.safeParse(body).error).toBeUndefined();
});

test('the cause is kept for the log and never shown', () => {
  const problem = new Problem('internal_error', 'Oh.', { cause: new Error('password=hunter2') });
  expect(problem.cause).toBeInstanceOf(Error);
  expect(JSON.stringify(problem.toBody('/', 'r'))).not.toContain('hunter2');
});
