import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { PACKAGE_ROOT } from '../../src/package';
import { document } from '../support/contract';

/** `npm run lint:openapi`: checks the OpenAPI document with Redocly. */
const REDOCLY = path.join(PACKAGE_ROOT, 'node_modules/@redocly/cli/bin/cli.js');
const CONFIG = path.join(PACKAGE_ROOT, 'test/openapi-lint/redocly.yaml');

const folder = mkdtempSync(path.join(tmpdir(), 'openapi-lint-'));
const file = path.join(folder, 'openapi.json');
writeFileSync(file, JSON.stringify(document, null, 2));
const { status } = spawnSync(process.execPath, [REDOCLY, 'lint', file, '--config', CONFIG, '--format=stylish'], {
  env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
  stdio: 'inherit',
});
rmSync(folder, { recursive: true });
process.exitCode = status ?? 1;
