import type { Logger } from 'pino';
import { type GaugeSources, addGauges } from './gauges';
import { type MetricsServer, serveMetrics } from './metrics-server';

/**
 * Serves the metrics of this process.
 * @param address `host:port`
 * @param sdkAddress where the Temporal SDK serves its own
 */
export async function startMetrics(
  address: string,
  sources: GaugeSources,
  log: Logger,
  sdkAddress?: string,
): Promise<MetricsServer & { stop: () => Promise<void> }> {
  addGauges(sources);
  const server = await serveMetrics(address, (error) => log.error({ err: error }, 'metrics server error'), sdkAddress);
  return { ...server, stop: server.close };
}
