import type { Db } from '../db/pool';
import { addGauges } from './gauges';
import { type MetricsServer, serveMetrics } from './metrics-server';

/**
 * Serves the metrics of this process.
 * @param address `host:port`
 * @param db the process's pool
 * @param sdkAddress where the Temporal SDK serves its own
 */
export async function startMetrics(
  address: string,
  db: Db,
  sdkAddress?: string,
): Promise<MetricsServer & { stop: () => Promise<void> }> {
  addGauges(db);
  const server = await serveMetrics(address, sdkAddress);
  return { ...server, stop: server.close };
}
