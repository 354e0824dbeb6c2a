import path from 'node:path';
import type * as openTelemetry from './open-telemetry';

type OpenTelemetry = typeof openTelemetry;

// Entry points import this file first: the instrumentation of `pg` has to be loaded before `pg`.

/** OpenTelemetry; undefined if tracing is off. */
export const tracing = start();

function start(): ReturnType<OpenTelemetry['createTracing']> | undefined {
  const { env } = process;
  const endpoint = env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT || env.OTEL_EXPORTER_OTLP_ENDPOINT;
  const isOff = env.OTEL_SDK_DISABLED?.toLowerCase() === 'true' || env.OTEL_TRACES_EXPORTER === 'none';
  if (!endpoint || isOff) return undefined;
  // Loaded only here, so that tracing costs nothing while it is off.
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- synchronous: `pg` is imported next
  const { createTracing } = require('./open-telemetry') as OpenTelemetry;
  const entry = path.basename(process.argv[1] ?? '', '.js');
  return createTracing(entry === 'server' ? 'order-service-api' : `order-service-${entry}`);
}
