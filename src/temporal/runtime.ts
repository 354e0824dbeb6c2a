import type { LogLevel } from '@temporalio/worker';
import { DefaultLogger, Runtime, makeTelemetryFilterString } from '@temporalio/worker';
import type { Logger } from 'pino';

const LEVELS: Record<LogLevel, 'trace' | 'debug' | 'info' | 'warn' | 'error'> = {
  TRACE: 'trace',
  DEBUG: 'debug',
  INFO: 'info',
  WARN: 'warn',
  ERROR: 'error',
};

/** A warning of the SDK's; the worker that sends webhooks has none on purpose. */
const NO_WORKFLOWS = 'No workflows registered';

/**
 * The SDK's native part, one a process: its logs go to ours, its metrics to Prometheus.
 * @param metricsAddress `host:port` to serve metrics on
 */
export function installTemporalRuntime(log: Logger, metricsAddress: string | undefined): void {
  Runtime.install({
    logger: new DefaultLogger('INFO', ({ level, message, meta }) => {
      log[message.startsWith(NO_WORKFLOWS) ? 'debug' : LEVELS[level]](meta ?? {}, message);
    }),
    telemetryOptions: {
      logging: { forward: {}, filter: makeTelemetryFilterString({ core: 'WARN' }) },
      ...(metricsAddress && { metrics: { prometheus: { bindAddress: metricsAddress } } }),
    },
    // Stopping is the entry point's to do, in its order.
    shutdownSignals: [],
  });
}
