// Packs the client that shops install, without the server, into a tarball in the current folder.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const root = path.dirname(import.meta.dirname);
const { name, version, license, exports, files, engines, dependencies } = JSON.parse(
  readFileSync(path.join(root, 'package.json'), 'utf8'),
);
const manifest = {
  ...{ name, version, license, exports, files, engines },
  description: 'The client of the order service',
  // Only the types need zod.
  peerDependencies: { zod: dependencies.zod.replace(/\..*/, '') },
  peerDependenciesMeta: { zod: { optional: true } },
};

const folder = mkdtempSync(path.join(tmpdir(), 'order-service-client-'));
try {
  for (const part of files) cpSync(path.join(root, part), path.join(folder, part), { recursive: true });
  cpSync(path.join(root, 'LICENSE'), path.join(folder, 'LICENSE'));
  writeFileSync(path.join(folder, 'package.json'), JSON.stringify(manifest, null, 2));
  execFileSync('npm', ['pack', folder], { stdio: 'inherit' });
} finally {
  rmSync(folder, { recursive: true });
}
