/** Escapes text from outside, so that the Temporal UI shows it as plain text. */
export function escapeMarkdown(text: string): string {
  return text.replace(/[\\`*_{}[\]()<>#+!|~-]/g, '\\$&');
}
