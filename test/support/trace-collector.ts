import { buffer } from 'node:stream/consumers';
import { startTestServer } from './listening-server';
import { type Scope, useResource } from './use-resource';

// The generated protobuf types of OTLP, which the exporter itself uses.
// eslint-disable-next-line @typescript-eslint/no-require-imports
const { opentelemetry } = require('@opentelemetry/otlp-transformer/build/src/generated/root');
const { ExportTraceServiceRequest } = opentelemetry.proto.collector.trace.v1;

interface CollectedSpan {
  service: string;
  name: string;
  traceId: string;
  spanId: string;
  parentSpanId: string;
  attributes: Record<string, unknown>;
}

interface TraceCollector {
  url: string;
  spans: CollectedSpan[];
  /** Everything that was received, as JSON. */
  text: () => string;
  stop: () => Promise<void>;
}

/** An OpenTelemetry collector: it accepts OTLP over HTTP, in protobuf, and keeps all spans. */
async function startTraceCollector(): Promise<TraceCollector> {
  const spans: CollectedSpan[] = [];
  const received: unknown[] = [];
  const server = await startTestServer((request, response) => {
    void buffer(request).then((body) => {
      const message = ExportTraceServiceRequest.toObject(ExportTraceServiceRequest.decode(body), { longs: String });
      received.push(message);
      for (const { resource, scopeSpans } of message.resourceSpans ?? []) {
        const service = String(toRecord(resource.attributes)['service.name']);
        for (const span of scopeSpans.flatMap((scope: any) => scope.spans)) {
          spans.push({
            service,
            name: span.name,
            traceId: hex(span.traceId),
            spanId: hex(span.spanId),
            parentSpanId: hex(span.parentSpanId),
            attributes: toRecord(span.attributes),
          });
        }
      }
      response.writeHead(request.url === '/v1/traces' ? 200 : 404).end();
    });
  });
  return { url: server.url, spans, text: () => JSON.stringify(received), stop: () => server.close() };
}

export function useTraceCollector(scope?: Scope): TraceCollector {
  return useResource(startTraceCollector, (collector) => collector.stop(), scope);
}

const hex = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString('hex');

function toRecord(attributes: { key: string; value: Record<string, unknown> }[] = []): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}
