import { readFileSync } from 'node:fs';
import path from 'node:path';
import { PACKAGE_ROOT } from '../../src/package';

test('the workflow bundle contains Temporal, the workflows and the domain, but neither zod nor modules of Node', () => {
  const bundle = readFileSync(path.join(PACKAGE_ROOT, 'dist/workflow-bundle.js'), 'utf8');
  // A name like `?1a2b` is a module that the bundler replaced by an empty one.
  const modules = [...bundle.matchAll(/^\/\*\*\*\/ "([^"?]+)":?$/gm)].map(([, name]) => name ?? '');
  const own = modules.filter((name) => !name.includes('node_modules/'));
  const packages = modules.flatMap((name) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(name)?.[1] ?? []);
  expect(own).toContain('./dist/workflows/order-workflow.js');
  expect(own.filter((name) => !/^\.\/dist\/(workflows|src\/domain)\//.test(name))).toEqual([]);
  expect([...new Set(packages)].sort()).toEqual([
    '@temporalio/common',
    '@temporalio/workflow',
    'async-mutex',
    'long',
    'ms',
    'nexus-rpc',
    'tslib',
  ]);
});
