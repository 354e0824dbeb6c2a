import { once } from 'node:events';
import { type Server, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import { type GaugeSources, addGauges } from './gauges';
import { registry } from './metrics';

/** The time that a scrape waits for the metrics of the Temporal SDK. */
const SDK_TIMEOUT_MS = 2000;

/**
 * Serves the metrics of this process at `/metrics` in Prometheus format.
 * @param address `host:port`
 * @param sdkAddress where the Temporal SDK serves its metrics; they are appended to the service's
 */
export async function startMetrics(
  address: string,
  sources: GaugeSources,
  log: Logger,
  sdkAddress?: string,
): Promise<{ stop: () => Promise<void> }> {
  addGauges({ ...sources, log });
  const server = createServer((request, response) => {
    if (request.method !== 'GET' || request.url !== '/metrics') {
      response.writeHead(404).end();
      return;
    }
    Promise.all([registry.metrics(), sdkAddress === undefined ? '' : readSdkMetrics(sdkAddress)]).then(
      (parts) => response.writeHead(200, { 'Content-Type': registry.contentType }).end(parts.join('\n')),
      (error: unknown) => {
        log.error({ err: error }, 'metrics not served');
        response.writeHead(500).end();
      },
    );
  });
  const { hostname, port } = new URL(`http://${address}`);
  // Without an address, on IPv6 and IPv4.
  await once(
    server.listen(Number(port || 80), hostname === '[::]' ? undefined : hostname.replace(/^\[|\]$/g, '')),
    'listening',
  );
  server.on('error', (error) => log.error({ err: error }, 'metrics server error'));
  return { stop: () => close(server) };
}

/** The service's own metrics are served even if the SDK's cannot be read. */
async function readSdkMetrics(address: string): Promise<string> {
  try {
    const response = await fetch(`http://${address}/metrics`, { signal: AbortSignal.timeout(SDK_TIMEOUT_MS) });
    return await response.text();
  } catch {
    return '';
  }
}

function close(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}

/** Finds a free port on the loopback address, for the SDK, which cannot report the port that it gets. */
export async function freeLoopbackAddress(): Promise<string> {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { address, port } = server.address() as AddressInfo;
  await close(server);
  return `${address}:${port}`;
}
