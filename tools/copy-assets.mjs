// Copies the SQL and CSS files that the compiled code reads at run time to the same place in dist/.
import { cpSync, statSync } from 'node:fs';

const isAsset = (path) => statSync(path).isDirectory() || /\.(sql|css)$/.test(path);
cpSync('src', 'dist/src', { recursive: true, filter: isAsset });
