import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { PACKAGE_ROOT } from '../../src/package';

/**
 * Packs the client with `npm pack`, in a copy of its folder: other tests use the built client meanwhile.
 * @returns the name of the tarball in `folder`
 */
export function packClient(folder: string): string {
  const copy = mkdtempSync(path.join(tmpdir(), 'order-service-client-'));
  try {
    cpSync(path.join(PACKAGE_ROOT, 'packages/client'), copy, { recursive: true });
    symlinkSync(path.join(PACKAGE_ROOT, 'node_modules'), path.join(copy, 'node_modules'));
    const output = execFileSync('npm', ['pack', '--json', '--pack-destination', folder], {
      cwd: copy,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const [{ filename }] = JSON.parse(output) as [{ filename: string }];
    return filename;
  } finally {
    rmSync(copy, { recursive: true });
  }
}
