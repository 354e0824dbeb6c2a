import { SpanKind, SpanStatusCode, context, propagation, trace, type Context } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { PgInstrumentation } from '@opentelemetry/instrumentation-pg';
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import type { Middleware } from 'koa';
import { traceIdOf } from '../domain/text';
import { parseUrl } from '../domain/web-url';
import type { WebhookRequest, WebhookSender } from '../webhooks/send';
import { activeTraceparent, currentRequestContext } from './current-request-context';
import { routeOf } from './metrics';

/** Exports spans by OTLP (http/protobuf). The OTEL_* variables configure exporter, batches, sampler and resource. */
export function createTracing(serviceName: string) {
  const resource = resourceFromAttributes({ 'service.name': serviceName }).merge(
    detectResources({ detectors: [envDetector] }),
  );
  const processor = new BatchSpanProcessor(new OTLPTraceExporter());
  const provider = new BasicTracerProvider({ resource, spanProcessors: [processor] });
  // No baggage: it would put text of callers into workflow histories.
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  trace.setGlobalTracerProvider(provider);
  new PgInstrumentation({ requireParentSpan: true }).setTracerProvider(provider);

  return {
    traceRequests,
    traceActivities,
    traceAttempts,
    /** Sends the remaining spans. */
    stop: () => provider.shutdown(),
  };
}

const tracer = () => trace.getTracer('order-service');

/** Only the ids: `tracestate` is text of the caller, which would enter workflow histories. */
function fromTraceparent(traceparent: string | undefined, base: Context): Context {
  return traceIdOf(traceparent) === undefined ? base : propagation.extract(base, { traceparent });
}

/** A span for each HTTP request, in the trace of the caller's `traceparent`. */
const traceRequests: Middleware = async (ctx, next) => {
  // Load balancers send a health check every few seconds.
  if (ctx.path.startsWith('/health/')) {
    await next();
    return;
  }
  const parent = fromTraceparent(ctx.get('traceparent'), context.active());
  return tracer().startActiveSpan(ctx.method, { kind: SpanKind.SERVER }, parent, async (span) => {
    try {
      await next();
    } finally {
      const { requestId, orderId } = ctx.state as { requestId?: string; orderId?: string };
      const route = routeOf(ctx);
      span.updateName(`${ctx.method} ${route}`);
      span.setAttributes({
        'http.request.method': ctx.method,
        'http.route': route,
        'http.response.status_code': ctx.status,
        ...(requestId && { 'order_service.request_id': requestId }),
        ...(orderId && { 'order_service.order_id': orderId }),
      });
      if (ctx.status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
    }
  });
};

/**
 * A span for each attempt of an activity, in the trace of the request that it works for. The workflow itself has none:
 * they would change the order of its commands, so that runs could not be replayed.
 */
const traceActivities: ActivityInterceptorsFactory = ({ info }) => ({
  inbound: {
    execute(input, next) {
      const parent = fromTraceparent(currentRequestContext()?.traceparent, context.active());
      const attributes = {
        'temporal.workflow_id': info.workflowExecution?.workflowId,
        'temporal.run_id': info.workflowExecution?.runId,
        'temporal.attempt': info.attempt,
      };
      return tracer().startActiveSpan(info.activityType, { attributes }, parent, async (span) => {
        try {
          return await next(input);
        } catch (error) {
          span.setStatus({ code: SpanStatusCode.ERROR });
          throw error;
        } finally {
          span.end();
        }
      });
    },
  },
});

/** A span for each webhook attempt, in the trace of the request that caused the webhook. */
function traceAttempts(sender: WebhookSender): WebhookSender {
  const send = async (request: WebhookRequest) => {
    const activity = trace.getSpanContext(context.active());
    const parent = fromTraceparent(request.traceparent, context.active());
    const options = {
      kind: SpanKind.CLIENT,
      attributes: {
        'http.request.method': 'POST',
        'server.address': parseUrl(request.url)?.hostname ?? 'invalid',
        'order_service.webhook_id': request.id,
      },
      links: activity ? [{ context: activity }] : [],
    };
    return tracer().startActiveSpan('send webhook', options, parent, async (span) => {
      try {
        const attempt = await sender.send({ ...request, traceparent: activeTraceparent() });
        if (attempt.status !== null) span.setAttribute('http.response.status_code', attempt.status);
        if (attempt.error !== null) span.setAttribute('error.type', attempt.error);
        if (attempt.outcome !== 'delivered') span.setStatus({ code: SpanStatusCode.ERROR });
        return attempt;
      } finally {
        span.end();
      }
    });
  };
  return { ...sender, send };
}
