import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import type { Middleware } from 'koa';
import type { WebhookSender } from '../webhooks/send';

/** OpenTelemetry, as the parts of a process use it. */
export interface Tracing {
  /** A span for each HTTP request, in the trace of the caller's `traceparent`. */
  traceRequests: Middleware;
  /** A span for each attempt of an activity, in the trace of the request that it works for. */
  traceActivities: ActivityInterceptorsFactory;
  /** A span for each webhook attempt, in the trace of the request that caused the webhook. */
  traceAttempts: (sender: WebhookSender) => WebhookSender;
  activeTraceparent: () => string | undefined;
  /** Sends the remaining spans. */
  stop: () => Promise<void>;
}

let active: Tracing | undefined;

/** Undefined if tracing is off: then no code of OpenTelemetry is loaded. */
export function tracing(): Tracing | undefined {
  return active;
}

export function setTracing(next: Tracing): void {
  active = next;
}
