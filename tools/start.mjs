// `npm start`: builds what has changed, and starts the whole service on this machine. `npm run dev` also restarts it after
// each change.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { isBuilt } from './is-built.mjs';

const require = createRequire(import.meta.url);
const LOCAL_STACK = '../dist/tools/local-stack';

// Before the build, which would replace the code of a service that is running.
if (existsSync(new URL(`${LOCAL_STACK}/running.js`, import.meta.url))) {
  const { DATA_DIR, findRunning } = require(`${LOCAL_STACK}/running.js`);
  const message = findRunning(DATA_DIR);
  if (message !== undefined) {
    console.error(message);
    process.exit(1);
  }
}
if (!existsSync(new URL('../node_modules/@swc/core', import.meta.url))) {
  console.error('The packages are missing. Run `npm ci` first.');
  process.exit(1);
}
if (!isBuilt()) {
  console.log('Compiling …');
  const { status } = spawnSync(process.execPath, ['tools/build.mjs'], { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
  // `running.js` has loaded old code, such as that of the settings.
  const loaded = Object.keys(require.cache).filter((file) => !file.includes('node_modules'));
  for (const file of loaded) Reflect.deleteProperty(require.cache, file);
}
require(`${LOCAL_STACK}/${process.argv[2] ?? 'start'}.js`);
