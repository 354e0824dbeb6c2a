/**
 * A project is a folder of test/. `npm test` runs unit, integration and browser, `npm run test:extended` runs extended
 * and tooling, and model has its own command. Jest runs a setup file once per run, so all projects share one Postgres
 * and one Temporal.
 */
const stack = (setup) => ({
  globalSetup: `<rootDir>/test/support/${setup}.ts`,
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
});

const project = (name, setup = {}) => ({
  displayName: name,
  testEnvironment: 'node',
  roots: [`<rootDir>/test/${name}`],
  testMatch: ['**/*.test.ts'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      { jsc: { target: 'es2022', parser: { syntax: 'typescript' } }, module: { type: 'commonjs' } },
    ],
  },
  ...setup,
});

/** @type {import('jest').Config} */
export default {
  // On the 2 cores of CI. A test often waits.
  maxWorkers: 4,
  // Jest ignores this setting in a project.
  testTimeout: 120_000,
  projects: [
    ...['unit', 'tooling'].map((name) => project(name)),
    ...['integration', 'browser', 'extended'].map((name) => project(name, stack('shared-setup'))),
    project('model', stack('global-setup')),
  ],
};
