import type { Command } from 'commander';
import { escapeControls } from '../domain/text';
import { CliError } from './cli-error';

export type Row = Readonly<Record<string, unknown>>;

/**
 * Prints a command's result: JSON with `--json`, otherwise `key: value` lines for one row or a table for a list.
 * @param note a sentence that only people need, so `--json` omits it
 */
export async function print(command: Command, result: Row | readonly Row[], note?: string): Promise<void> {
  if (wantsJson(command)) return write(`${JSON.stringify(result, null, 2)}\n`);
  const text = Array.isArray(result) ? toTable(result) : toLines(result as Row);
  await write(note === undefined ? text : `${text}\n${note}\n`);
}

export function wantsJson(command: Command): boolean {
  return command.optsWithGlobals<{ json?: true }>().json === true;
}

/**
 * Writes lines to standard output. All other control characters are escaped, because they could control the operator's
 * terminal. Resolves when the text is flushed, so that a slow reader slows the command instead of filling its memory.
 */
export function write(text: string): Promise<void> {
  return writeRaw(text.split('\n').map(escapeControls).join('\n'));
}

/** As `write`, without changing the text. */
export function writeRaw(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(text, (error) => (error ? reject(toWriteError(error)) : resolve()));
  });
}

function toWriteError(error: NodeJS.ErrnoException): Error {
  if (error.code !== 'EPIPE') return error;
  return new CliError('standard output was closed before the command ended: it may have done only a part of its work');
}

export function toMode(sandbox: boolean): 'sandbox' | 'live' {
  return sandbox ? 'sandbox' : 'live';
}

function toLines(row: Row): string {
  const width = Math.max(...Object.keys(row).map((key) => key.length));
  return Object.entries(row)
    .map(([key, value]) =>
      isRows(value) ? `${key}:\n${toTable(value)}` : `${`${key}:`.padEnd(width + 2)}${toText(value)}\n`,
    )
    .join('');
}

function isRows(value: unknown): value is Row[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'object') && value.length > 0;
}

export function toTable(rows: readonly Row[]): string {
  if (rows.length === 0) return 'none\n';
  const head = Object.keys(rows[0] ?? {});
  const lines = [head, ...rows.map((row) => head.map((key) => toText(row[key])))];
  const widths = head.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  const toLine = (line: string[]) => line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ');
  return lines.map((line) => `${toLine(line).trimEnd()}\n`).join('');
}

function toText(value: unknown): string {
  if (value === null || value === undefined) return '-';
  if (typeof value === 'string') return escapeControls(value);
  return value instanceof Date ? value.toISOString() : JSON.stringify(value);
}
