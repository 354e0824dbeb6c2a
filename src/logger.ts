import type { Logger } from 'pino';
import { pino, stdSerializers } from 'pino';

/** JSON lines on standard output. */
export function createLogger(level: string, service: string): Logger {
  return pino({
    level,
    base: { service },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    serializers: { err: stdSerializers.err },
    // Nothing below logs headers or secrets; this is the second lock.
    redact: ['*.authorization', '*.secret', '*.key', 'err.config'],
  });
}
