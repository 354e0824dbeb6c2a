/** @type {import('jest').Config} */
export default {
  testEnvironment: 'node',
  roots: ['<rootDir>/test'],
  globalSetup: './test/support/global-setup.ts',
  globalTeardown: './test/support/global-teardown.ts',
  testMatch: ['**/*.test.ts'],
  transform: {
    '^.+\\.ts$|/node-pg-migrate/.+\\.js$': [
      '@swc/jest',
      { jsc: { target: 'es2022', parser: { syntax: 'typescript' } }, module: { type: 'commonjs' } },
    ],
  },
  // An ES module that the product requires: Node can, Jest on Node 20 cannot.
  transformIgnorePatterns: ['/node_modules/(?!node-pg-migrate/)'],
  testTimeout: 30_000,
  maxWorkers: 2,
};
