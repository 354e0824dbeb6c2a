/**
 * The import rules of "Layout" in docs/contributors/architecture.md. Imports point one way: domain <- contracts <- db, webhooks <-
 * activities, temporal <- orders <- api, checkout, cli <- entry points. Workflows import domain (values) and activities
 * (types only). The order core imports nothing of the hosted checkout, which uses the core through one file,
 * src/checkout/order-core.ts, and has its workflow in src/checkout/temporal/. test/tooling/architecture.test.ts runs them.
 */

/** Each layer's files. A file matches at most one layer. */
const FILES = {
  ...Object.fromEntries(
    ['domain', 'contracts', 'encryption', 'webhooks', 'orders', 'api', 'portal', 'html', 'mail', 'cli'].map((name) => [
      name,
      `^src/${name}/`,
    ]),
  ),
  client: '^packages/client/src/',
  concurrency: '^src/concurrency[.]ts$',
  // Connections and errors of Postgres, and how old data is deleted, apart from the statements of the core.
  postgres: '^src/db/(pool|clock|database-errors|old-data)[.]ts$',
  db: '^src/db/(?!(pool|clock|database-errors|old-data)[.]ts$)',
  // Calls to the Temporal server and lists of its runs, apart from those of the workflows of orders.
  calls: '^src/temporal/(calls|list-runs)[.]ts$',
  temporal: '^src/temporal/(?!(calls|list-runs)[.]ts$)',
  config: '^src/config([.]ts$|/)',
  package: '^src/package[.]ts$',
  logger: '^src/logger[.]ts$',
  telemetry: '^src/telemetry/',
  providers: '^src/providers[.]ts$',
  entry: '^src/(cli|codec-server|entry-point|migrate|server|worker)[.]ts$',
  activities: '^activities/',
  // The messages that workflows and their clients share.
  messages: '^workflows/messages[.]ts$',
  workflows: '^workflows/(?!messages[.]ts$)',
  checkout: '^src/checkout/(?!order-core[.]ts$|temporal/checkout-(messages|workflow)[.]ts$)',
  'order-core': '^src/checkout/order-core[.]ts$',
  'checkout-messages': '^src/checkout/temporal/checkout-messages[.]ts$',
  'checkout-workflow': '^src/checkout/temporal/checkout-workflow[.]ts$',
  tools: '^tools/',
};

/** What a layer may import besides itself. A trailing `:type` allows types only. */
const LAYERS = {
  domain: [],
  contracts: ['domain'],
  encryption: [],
  concurrency: [],
  postgres: [],
  db: ['domain', 'contracts', 'encryption', 'postgres'],
  // What it measures calls it. It knows senders by type, to wrap them.
  telemetry: ['domain', 'db', 'messages', 'postgres', 'package', 'webhooks:type'],
  webhooks: ['domain'],
  activities: ['domain', 'contracts', 'encryption', 'db', 'postgres', 'webhooks', 'telemetry', 'mail', 'messages'],
  messages: ['domain'],
  workflows: ['domain', 'activities:type', 'messages'],
  calls: ['domain', 'telemetry'],
  temporal: [
    'domain',
    'encryption',
    'webhooks',
    'telemetry',
    'calls',
    'messages',
    'workflows:type',
    'activities:type',
    'concurrency',
    'package',
  ],
  orders: [
    'domain',
    'contracts',
    'encryption',
    'db',
    'postgres',
    'webhooks',
    'telemetry',
    'calls',
    'temporal',
    'mail:type',
    'concurrency',
  ],
  api: ['domain', 'contracts', 'db', 'postgres', 'telemetry', 'orders', 'concurrency', 'package'],
  'order-core': ['domain', 'contracts', 'db', 'postgres', 'orders', 'temporal:type'],
  checkout: [
    ...[
      'domain',
      'contracts',
      'concurrency',
      'postgres',
      'telemetry',
      'html',
      'mail',
      'order-core',
      'checkout-messages',
    ],
    ...['calls', 'checkout-workflow:type'],
  ],
  'checkout-messages': [],
  'checkout-workflow': ['checkout:type', 'checkout-messages'],
  html: [],
  // The seller's page: the use cases, as the API has them.
  portal: ['domain', 'contracts', 'postgres', 'html', 'orders'],
  mail: ['domain', 'html', 'postgres'],
  providers: ['checkout', 'config:type', 'postgres:type'],
  cli: [
    ...['domain', 'contracts', 'encryption', 'db', 'postgres', 'webhooks', 'telemetry', 'calls', 'temporal', 'orders'],
    ...['checkout', 'providers', 'config', 'messages', 'package'],
  ],
  // Shops install it without any package, so it needs nothing else at run time.
  client: [],
  config: ['domain', 'encryption'],
  package: [],
  logger: ['domain', 'telemetry'],
  entry: Object.keys(FILES).filter((name) => name !== 'tools'),
  tools: Object.keys(FILES).filter((name) => name !== 'api' && name !== 'orders'),
};

/** The layers that may import a package. Layers above the domain may import any other package. */
const PACKAGES = {
  pg: ['db', 'postgres'],
  koa: ['api', 'html', 'portal', 'checkout', 'telemetry', 'entry'],
  '@koa/router': ['api', 'portal', 'checkout', 'entry'],
  'koa-bodyparser': ['api', 'html', 'entry'],
  '@temporalio/workflow': ['workflows', 'messages', 'checkout-workflow', 'checkout-messages'],
  '@temporalio/activity': ['activities', 'checkout'],
  '@temporalio/client': ['calls', 'temporal', 'checkout', 'telemetry', 'orders', 'entry', 'tools'],
  '@temporalio/common': ['workflows', 'messages', 'activities', 'calls', 'temporal', 'checkout'],
  '@temporalio/envconfig': ['temporal', 'entry', 'tools'],
  '@temporalio/proto': ['temporal'],
  '@temporalio/worker': ['temporal', 'telemetry', 'activities', 'entry'],
  '@opentelemetry/api': ['telemetry'],
  'prom-client': ['telemetry'],
  nodemailer: ['mail'],
  commander: ['cli', 'entry', 'tools'],
};

const INTERNAL = '^(src|workflows|activities|packages|tools|test)/';
const PRODUCTION = '^(src|workflows|activities)/';
const TYPES = ['type-only', 'type-import'];

const anyOf = (layers) => layers.map((name) => FILES[name]);
const packagePath = (name) => `(^|/)node_modules/(@types/)?${name}(/|$)`;
const forbid = (name, from, to) => ({ name, severity: 'error', from, to });

const layerRules = Object.entries(LAYERS).flatMap(([layer, allowed]) => {
  const values = [layer, ...allowed.filter((name) => !name.endsWith(':type'))];
  const types = allowed.filter((name) => name.endsWith(':type')).map((name) => name.slice(0, -':type'.length));
  const from = { path: FILES[layer] };
  return [
    forbid(`layer:${layer}`, from, { path: INTERNAL, pathNot: anyOf([...values, ...types]) }),
    ...types.map((type) => forbid(`types-only:${layer}`, from, { path: FILES[type], dependencyTypesNot: TYPES })),
  ];
});

const packageRules = Object.entries(PACKAGES).map(([name, layers]) =>
  forbid(`package:${name}`, { pathNot: anyOf(layers) }, { path: packagePath(name) }),
);

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    ...layerRules,
    ...packageRules,
    forbid('known-layer', { path: INTERNAL, pathNot: Object.values(FILES) }, {}),
    forbid('no-cycle', {}, { circular: true }),
    forbid('resolvable', {}, { couldNotResolve: true }),
    forbid('domain-alone', { path: FILES.domain }, { pathNot: FILES.domain }),
    forbid('client-alone', { path: FILES.client }, { pathNot: FILES.client, dependencyTypesNot: ['core'] }),
    // The workflow sandbox has no modules of Node, and each package adds to the bundle.
    forbid(
      'workflow-values',
      { path: anyOf(['workflows', 'messages', 'checkout-workflow', 'checkout-messages']) },
      {
        pathNot: [INTERNAL, ...['@temporalio/workflow', '@temporalio/common', 'async-mutex'].map(packagePath)],
        dependencyTypesNot: TYPES,
      },
    ),
    // The production image is installed without devDependencies.
    forbid(
      'production-dependency',
      { path: PRODUCTION },
      { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'], pathNot: '(^|/)node_modules/@types/' },
    ),
    forbid('declared-dependency', { path: FILES.tools }, { dependencyTypes: ['npm-no-pkg', 'npm-unknown'] }),
  ],
  options: {
    doNotFollow: { path: ['node_modules', '^test/'] },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'require', 'node', 'default'] },
  },
};
