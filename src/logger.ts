import { pino, stdSerializers, type Logger } from 'pino';

/** Creates a logger that writes JSON lines to standard output. */
export function createLogger(level: string, service: string): Logger {
  return pino({
    level,
    base: { service },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    serializers: { err: stdSerializers.err },
    // A second safeguard: no code logs headers or secrets.
    redact: ['*.authorization', '*.secret', '*.key', 'err.config'],
  });
}
