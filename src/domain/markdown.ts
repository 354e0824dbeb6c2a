/** Texts from outside are shown to operators as they are, never as markup. */
export function escapeMarkdown(text: string): string {
  return text.replace(/[\\`*_{}[\]()<>#+!|~-]/g, '\\$&');
}
