import { toCodeSpan } from '../../../src/temporal/order-workflow-client';

test('text from outside cannot end its code span', () => {
  expect(toCodeSpan('https://evil.example/pay')).toBe('`https://evil.example/pay`');
  expect(toCodeSpan('a`b``https://evil.example\n# c')).toBe('`a\\u0060b\\u0060\\u0060https://evil.example\\u000a# c`');
});
