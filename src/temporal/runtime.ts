import { type LogLevel, DefaultLogger, Runtime, makeTelemetryFilterString } from '@temporalio/worker';
import type { Logger } from 'pino';

/** The fields of the SDK that are kept, under the names that the service's own lines have. */
const FIELDS: Record<string, string> = {
  error: 'err',
  workflowId: 'workflow_id',
  runId: 'run_id',
  // Of an activity.
  workflowRunId: 'run_id',
  activityType: 'activity',
  attempt: 'attempt',
  taskQueue: 'task_queue',
  request_id: 'request_id',
  trace_id: 'trace_id',
};

function toFields(meta: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(FIELDS).flatMap(([name, field]) => (meta[name] === undefined ? [] : [[field, meta[name]]])),
  );
}

/** A warning of the SDK that is expected: some workers only run activities. */
const NO_WORKFLOWS = 'No workflows registered';

/**
 * Sets up the SDK's native part, once per process: sends its logs to `log` and its metrics to Prometheus.
 * @param metricsAddress `host:port` on which the SDK serves its metrics; undefined for none
 */
export function installTemporalRuntime(log: Logger, metricsAddress: string | undefined): void {
  Runtime.install({
    logger: new DefaultLogger('INFO', ({ level, message, meta }) => {
      log[message.startsWith(NO_WORKFLOWS) ? 'debug' : (level.toLowerCase() as Lowercase<LogLevel>)](
        toFields(meta ?? {}),
        message,
      );
    }),
    telemetryOptions: {
      logging: { forward: {}, filter: makeTelemetryFilterString({ core: 'WARN' }) },
      ...(metricsAddress && { metrics: { prometheus: { bindAddress: metricsAddress } } }),
    },
    // The entry point stops the parts of the process in its own order.
    shutdownSignals: [],
  });
}
