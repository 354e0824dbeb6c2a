import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { PACKAGE_ROOT } from '../../src/package';
import { document } from '../support/contract';

/**
 * `npm run lint:openapi`: checks the OpenAPI document with the recommended rules of Redocly and Spectral. npx installs
 * them, because they have 200 packages of 83 MB that nothing else needs.
 */
const FOLDER = path.join(PACKAGE_ROOT, 'test/openapi-lint');
const LINTERS: [name: string, command: (file: string) => string[]][] = [
  [
    '@redocly/cli@2.77.0',
    (file) => ['redocly', 'lint', file, '--config', path.join(FOLDER, 'redocly.yaml'), '--format=stylish'],
  ],
  [
    '@stoplight/spectral-cli@6.16.3',
    (file) => ['spectral', 'lint', file, '--ruleset', path.join(FOLDER, 'spectral.yaml'), '--fail-severity=hint'],
  ],
];

const folder = mkdtempSync(path.join(tmpdir(), 'openapi-lint-'));
const file = path.join(folder, 'openapi.json');
writeFileSync(file, JSON.stringify(document, null, 2));
for (const [name, command] of LINTERS) {
  console.log(name);
  const env = {
    ...process.env,
    npm_config_ignore_scripts: 'true',
    REDOCLY_TELEMETRY: 'off',
    REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
  };
  const { status } = spawnSync('npx', ['--yes', `--package=${name}`, '--', ...command(file)], {
    env,
    stdio: 'inherit',
  });
  if (status !== 0) process.exitCode = 1;
}
rmSync(folder, { recursive: true });
