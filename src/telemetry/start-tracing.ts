import path from 'node:path';
import type * as openTelemetry from './open-telemetry';
import { setTracing } from './tracing';

type OpenTelemetry = typeof openTelemetry;

// Entry points import this file first: the instrumentation of `pg` has to be loaded before `pg`.

const { env } = process;
const endpoint = env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT || env.OTEL_EXPORTER_OTLP_ENDPOINT;

if (endpoint && env.OTEL_SDK_DISABLED?.toLowerCase() !== 'true' && env.OTEL_TRACES_EXPORTER !== 'none') {
  // Loaded only here, so that tracing costs nothing while it is off.
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- synchronous: `pg` is imported next
  const { createTracing } = require('./open-telemetry') as OpenTelemetry;
  const entry = path.basename(process.argv[1] ?? '', '.js');
  setTracing(createTracing(entry === 'server' ? 'order-service-api' : `order-service-${entry}`));
}
