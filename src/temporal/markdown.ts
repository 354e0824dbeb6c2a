import { escapeControls } from '../domain/escape-controls';

/** Text from outside as a markdown code span: the Temporal UI shows it unchanged and makes no link of a URL in it. */
export function toCodeSpan(text: string): string {
  return `\`${escapeControls(text).replaceAll('`', '\\u0060')}\``;
}
