import { escapeControls } from '../../../src/domain/text';
import { toCodeSpan } from '../../../src/temporal/order-workflow-client';

test('escapeControls escapes C0, DEL, C1, line separators and direction marks, and nothing else', () => {
  const escaped: string[] = [];
  for (let code = 0; code <= 0xffff; code += 1) {
    const char = String.fromCharCode(code);
    if (escapeControls(char) !== char) escaped.push(code.toString(16));
  }
  const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => (from + i).toString(16));
  expect(escaped).toEqual([
    ...range(0, 0x1f),
    ...range(0x7f, 0x9f),
    ...['61c', '200e', '200f', '2028', '2029', '202a', '202b', '202c', '202d', '202e', '2066', '2067', '2068', '2069'],
  ]);
  expect(escapeControls('\u001b[31m\u202e\u009b2J 👩‍💻 Zoë')).toBe('\\u001b[31m\\u202e\\u009b2J 👩‍💻 Zoë');
});

test('text from outside cannot end its code span', () => {
  expect(toCodeSpan('https://evil.example/pay')).toBe('`https://evil.example/pay`');
  expect(toCodeSpan('a`b``https://evil.example\n# c')).toBe('`a\\u0060b\\u0060\\u0060https://evil.example\\u000a# c`');
});
