// Compiles the sources without a type check, bundles the workflow code, renders the documentation and the client's types, and
// copies the files that the compiled code reads at run time to dist/.
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { transformFile } from '@swc/core';
import { writeDocs } from './guides.mjs';
import { STAMP, lastChange, timeOf } from './is-built.mjs';

const startedAt = new Date();
const OPTIONS = {
  jsc: { target: 'es2022', parser: { syntax: 'typescript' } },
  // The annotation names the exports for ES modules, which find them without running the code.
  module: { type: 'commonjs', ignoreDynamic: true, exportInteropAnnotation: true },
  sourceMaps: true,
};

const CLIENT = path.join('packages', 'client', 'src');
const CLIENT_TYPES = path.join(CLIENT, 'contract-types.ts');
const BUNDLES = ['dist/order-workflows.js', 'dist/checkout-workflows.js'];
/** Workflows import nothing else: see .dependency-cruiser.mjs. */
const IN_BUNDLES = ['workflows', 'src/domain', 'src/temporal', 'src/checkout/temporal'];

/** A file that was changed during the build is newer. */
function setTime(outputs, time = startedAt) {
  for (const file of outputs) utimesSync(file, time, time);
}

/** As sources, the types are older than this build. */
function writeClientTypes() {
  const { renderClientTypes } = createRequire(import.meta.url)('../dist/tools/client-types.js');
  writeFileSync(CLIENT_TYPES, renderClientTypes());
  setTime([CLIENT_TYPES, CLIENT], new Date(startedAt.getTime() - 1));
}

/** The client is a package of its own, which shops and the examples import by its name. */
const targetOf = (file) =>
  file.startsWith(CLIENT) ? file.replace(CLIENT, 'packages/client/dist') : path.join('dist', file);

async function compile(file) {
  const target = targetOf(file).replace(/\.ts$/, '.js');
  const sourceFileName = path.relative(path.dirname(target), file);
  const { code, map } = await transformFile(file, { ...OPTIONS, swcrc: false, sourceFileName });
  writeFileSync(target, `${code}//# sourceMappingURL=${path.basename(target)}.map\n`);
  writeFileSync(`${target}.map`, map);
}

rmSync(STAMP, { force: true });
// The image is built without the last three.
const folders = ['src', 'workflows', 'activities', 'tools', 'test', CLIENT].filter((folder) => existsSync(folder));
const files = folders.flatMap((folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name)),
);
for (const folder of new Set(files.map((file) => path.dirname(targetOf(file))))) mkdirSync(folder, { recursive: true });
try {
  await Promise.all(files.filter((file) => /(?<!\.d)\.ts$/.test(file)).map(compile));
  if (BUNDLES.some((bundle) => timeOf(bundle) <= lastChange(IN_BUNDLES))) {
    execFileSync(process.execPath, ['dist/src/temporal/workflow-bundle.js'], { stdio: 'inherit' });
    setTime(BUNDLES);
  }
  if (existsSync(CLIENT)) writeClientTypes();
} catch (error) {
  console.error(error.message);
  process.exit(1);
}
for (const file of files) if (/^src\b.*\.(sql|css)$/.test(file)) copyFileSync(file, path.join('dist', file));
writeDocs('dist/docs', 'dist/guides.json');
writeFileSync(STAMP, '');
setTime([STAMP]);
