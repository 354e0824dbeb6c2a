import { pino, stdSerializers, type DestinationStream, type Logger } from 'pino';
import { escapeControls } from './domain/text';

/**
 * Postgres describes the row that violates a constraint, and a parser repeats the body: a pay link, a person's address.
 */
const UNLOGGED = { detail: undefined, where: undefined, internalQuery: undefined, body: undefined };

/** Creates a logger that writes JSON lines to standard output, or to `destination`. */
export function createLogger(level: string, service: string, destination?: DestinationStream): Logger {
  const options = {
    level,
    base: { service },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: {
      err: (error: unknown) =>
        typeof error === 'object' && error !== null ? { ...stdSerializers.err(error as Error), ...UNLOGGED } : error,
    },
    // A second safeguard: no code logs headers or secrets.
    redact: ['*.authorization', '*.secret', '*.key', 'err.config'],
    // JSON leaves C1 controls and direction controls as they are, and they could control an operator's terminal.
    hooks: { streamWrite: (line: string) => `${escapeControls(line.trimEnd())}\n` },
  };
  // Asynchronous, so that no request waits for the reader of the log. It is flushed when the process exits. With `minLength`,
  // `flush` waits until the lines are written.
  return pino(options, destination ?? pino.destination({ sync: false, minLength: 1 }));
}
