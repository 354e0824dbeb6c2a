/** A time for operators, to the second: `2026-11-22T10:02:00Z`. */
export function formatTime(at: number | string): string {
  return new Date(at).toISOString().replace(/\.\d+Z$/, 'Z');
}
