import { buffer } from 'node:stream/consumers';
import { parse } from 'protobufjs';
import { startTestServer } from './listening-server';
import { type Scope, useResource } from './use-resource';

/** The part of OTLP that these tests read: https://github.com/open-telemetry/opentelemetry-proto */
const ExportTraceServiceRequest = parse(`
  syntax = "proto3";
  message Request { repeated ResourceSpans resource_spans = 1; }
  message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
  message Resource { repeated KeyValue attributes = 1; }
  message ScopeSpans { repeated Span spans = 2; }
  message Span {
    bytes trace_id = 1; bytes span_id = 2; bytes parent_span_id = 4; string name = 5;
    repeated KeyValue attributes = 9; repeated Event events = 11; Status status = 15;
  }
  message Event { string name = 2; repeated KeyValue attributes = 3; }
  message Status { string message = 2; int32 code = 3; }
  message KeyValue { string key = 1; AnyValue value = 2; }
  message AnyValue { oneof value {
    string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4;
    ArrayValue array_value = 5;
  } }
  message ArrayValue { repeated AnyValue values = 1; }
`).root.lookupType('Request');

interface CollectedSpan {
  service: string;
  name: string;
  traceId: string;
  spanId: string;
  parentSpanId: string;
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
      const decoded = ExportTraceServiceRequest.decode(body);
      const message = ExportTraceServiceRequest.toObject(decoded, { longs: String });
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
