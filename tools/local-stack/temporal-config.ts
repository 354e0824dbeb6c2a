/** More than a load test on one machine can reach. */
const NO_LIMIT = 1_000_000;

/**
 * The server's dynamic config for local use. The names are those of common/dynamicconfig/constants.go in the server's
 * module. Limits on one workflow (updates in flight, history size) stay as production has them.
 */
export const dynamicConfig: Record<string, boolean | number> = {
  'system.enableEagerWorkflowStart': true,
  // A search attribute that was just made is usable at once.
  'system.forceSearchAttributesCacheRefreshOnRead': true,
  'frontend.rps': NO_LIMIT,
  'frontend.namespaceRPS': NO_LIMIT,
  'frontend.namespaceRPS.visibility': NO_LIMIT,
  'frontend.namespaceCount': NO_LIMIT,
  'frontend.persistenceMaxQPS': NO_LIMIT,
  'history.rps': NO_LIMIT,
  'history.persistenceMaxQPS': NO_LIMIT,
  'matching.rps': NO_LIMIT,
  'matching.persistenceMaxQPS': NO_LIMIT,
  'worker.persistenceMaxQPS': NO_LIMIT,
};

/** The same as a file: each name with a list of values and what they are constrained to. */
export function dynamicConfigFile(): string {
  return json(Object.fromEntries(Object.entries(dynamicConfig).map(([name, value]) => [name, [{ value }]])));
}

/** A config of the stock server: all four services in one process on loopback, one SQLite file, paths from its folder. */
export function serverConfig(ports: number[], files: { database: string; dynamicConfig: string }, durable: boolean) {
  const [frontend, ...rest] = ports;
  const address = `127.0.0.1:${frontend ?? ''}`;
  const service = (grpcPort = rest.pop()) => ({
    rpc: { grpcPort, membershipPort: rest.pop(), bindOnIP: '127.0.0.1' },
  });
  const cluster = { enabled: true, initialFailoverVersion: 1, rpcName: 'frontend', rpcAddress: address };
  const sql = {
    pluginName: 'sqlite',
    // Unused, and refused if they are empty.
    connectAddr: 'localhost',
    connectProtocol: 'tcp',
    databaseName: files.database,
    // Full syncing for npm start. Without it data survive a killed server, but not a machine that goes down.
    connectAttributes: { mode: 'rwc', setup: 'true', journal_mode: 'wal', synchronous: durable ? '2' : '0' },
    maxConns: 1,
    maxIdleConns: 1,
  };
  return json({
    log: { stdout: true, level: 'warn' },
    persistence: {
      defaultStore: 'sqlite',
      visibilityStore: 'sqlite',
      numHistoryShards: 1,
      datastores: { sqlite: { sql } },
    },
    global: { membership: { maxJoinDuration: '30s', broadcastAddress: '127.0.0.1' } },
    services: {
      frontend: service(frontend),
      history: service(),
      matching: service(),
      worker: service(),
    },
    clusterMetadata: {
      enableGlobalNamespace: false,
      failoverVersionIncrement: 10,
      masterClusterName: 'active',
      currentClusterName: 'active',
      clusterInformation: { active: cluster },
    },
    dcRedirectionPolicy: { policy: 'noop' },
    publicClient: { hostPort: address },
    dynamicConfigClient: { filepath: files.dynamicConfig, pollInterval: '60s' },
  });
}

export function uiConfig(port: number, uiPort: number, namespace: string): string {
  return json({
    temporalGrpcAddress: `127.0.0.1:${port}`,
    host: '127.0.0.1',
    port: uiPort,
    enableUi: true,
    disableNewsFetch: true,
    notifyOnNewVersion: false,
    defaultNamespace: namespace,
    cors: { cookieInsecure: true, allowOrigins: [`http://127.0.0.1:${uiPort}`, `http://localhost:${uiPort}`] },
  });
}

/** Both servers read YAML, of which JSON is a part. */
function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
