/** Higher than any rate that a load test on one machine reaches. */
const NO_LIMIT = 1_000_000;

/**
 * The server's dynamic config for local use, with the names of common/dynamicconfig/constants.go in the server's
 * module. Limits on a single workflow (updates in flight, history size) stay the same as in production.
 */
const DYNAMIC_CONFIG: Record<string, boolean | number> = {
  'system.enableEagerWorkflowStart': true,
  // Sellers take turns while tasks wait for a worker.
  'matching.enableFairness': true,
  // Makes a new search attribute usable immediately.
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

/** @param durable false for tests, whose histories are cut into runs sooner: it takes a test minutes to fill one */
export function dynamicConfig(durable: boolean): [name: string, value: boolean | number][] {
  const own = durable ? {} : { 'limit.historyCount.suggestContinueAsNew': 300 };
  return Object.entries({ ...DYNAMIC_CONFIG, ...own });
}

/** The dynamic config as a file, in which each name has a list of values with constraints. */
export function dynamicConfigFile(durable: boolean): string {
  return json(Object.fromEntries(dynamicConfig(durable).map(([name, value]) => [name, [{ value }]])));
}

/**
 * The config of the stock server: all four services in one process on loopback, one SQLite file. File paths are
 * relative to the working directory.
 */
export function serverConfig(ports: number[], files: { database: string; dynamicConfig: string }, durable: boolean) {
  const [frontend, ...rest] = ports;
  const address = `127.0.0.1:${frontend ?? ''}`;
  const service = (grpcPort = rest.pop()) => ({
    rpc: { grpcPort, membershipPort: rest.pop(), bindOnIP: '127.0.0.1' },
  });
  const cluster = { enabled: true, initialFailoverVersion: 1, rpcName: 'frontend', rpcAddress: address };
  const sql = {
    pluginName: 'sqlite',
    // Unused, but the server refuses empty values.
    connectAddr: 'localhost',
    connectProtocol: 'tcp',
    databaseName: files.database,
    // 2: flush each commit to disk. 0: data survive a killed server, but not a crash of the machine.
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

/** Both servers read YAML, which includes JSON. */
function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
