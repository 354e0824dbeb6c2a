// Compiles the sources, bundles the workflow code, and copies the files that the compiled code reads at run time to
// dist/.
import { execFileSync } from 'node:child_process';
import { copyFileSync, cpSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { STAMP } from './is-built.mjs';

const startedAt = new Date();
const run = (...args) => execFileSync(process.execPath, args, { stdio: 'inherit' });
const isAsset = (path) => statSync(path).isDirectory() || /\.(sql|css)$/.test(path);

rmSync(STAMP, { force: true });
try {
  run('node_modules/typescript/bin/tsc');
  run('dist/src/temporal/workflow-bundle.js');
} catch (error) {
  // The program has printed its errors.
  process.exit(error.status ?? 1);
}
cpSync('src', 'dist/src', { recursive: true, filter: isAsset });
// Of the package, the service needs this one file, and none of its dependencies.
copyFileSync('node_modules/@scalar/fastify-api-reference/dist/js/standalone.js', 'dist/scalar.js');
writeFileSync(STAMP, '');
// A file that was changed during the build is newer.
utimesSync(STAMP, startedAt, startedAt);
