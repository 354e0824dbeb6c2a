import type { Command } from 'commander';

export type Row = Readonly<Record<string, unknown>>;

/**
 * Prints what a command has to say: JSON with `--json`, else `key: value` lines or a table.
 * @param note for people only
 */
export async function print(command: Command, answer: Row | readonly Row[], note?: string): Promise<void> {
  if (wantsJson(command)) return write(`${JSON.stringify(answer, null, 2)}\n`);
  const text = Array.isArray(answer) ? toTable(answer) : toLines(answer as Row);
  await write(note === undefined ? text : `${text}\n${note}\n`);
}

export function wantsJson(command: Command): boolean {
  return command.optsWithGlobals<{ json?: true }>().json === true;
}

/** Resolves once it is passed on, so that a slow reader holds up what is still to come. */
export function write(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(text, (error) => (error ? reject(error) : resolve()));
  });
}

function toLines(row: Row): string {
  const width = Math.max(...Object.keys(row).map((key) => key.length));
  return Object.entries(row)
    .map(([key, value]) => `${`${key}:`.padEnd(width + 2)}${toText(value)}\n`)
    .join('');
}

function toTable(rows: readonly Row[]): string {
  if (rows.length === 0) return 'none\n';
  const head = Object.keys(rows[0] ?? {});
  const lines = [head, ...rows.map((row) => head.map((key) => toText(row[key])))];
  const widths = head.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  return lines
    .map(
      (line) =>
        `${line
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}

function toText(value: unknown): string {
  if (value === null || value === undefined) return '-';
  if (typeof value === 'string') return value;
  return value instanceof Date ? value.toISOString() : JSON.stringify(value);
}
