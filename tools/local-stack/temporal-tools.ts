import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { PACKAGE_ROOT } from '../../src/package';

/** A program that Go builds on machines without a `temporal` CLI. */
export interface Tool {
  binary: 'temporal-server' | 'temporal-ui';
  /** The folder of the Go module whose go.mod pins the package and its version. */
  dir: string;
  package: string;
  version: string;
  flags: string[];
}

export function temporalTools(): { server: Tool; ui: Tool } {
  const root = join(PACKAGE_ROOT, 'tools', 'temporal');
  return {
    // The tag excludes the cloud-storage client's xDS, which saves a minute of build time.
    server: tool('temporal-server', join(root, 'server'), ['-tags', 'disable_grpc_modules']),
    ui: tool('temporal-ui', join(root, 'ui'), []),
  };
}

/** The path of a program in the user's cache, which all clones share. */
export function cachePath(binary: string, version: string, env: NodeJS.ProcessEnv): string {
  const cache = env.XDG_CACHE_HOME ?? join(env.HOME ?? homedir(), '.cache');
  return join(cache, 'order-service', 'temporal', `${version}-${process.platform}-${process.arch}`, binary);
}

function tool(binary: Tool['binary'], dir: string, flags: string[]): Tool {
  const mod = readFileSync(join(dir, 'go.mod'), 'utf8');
  const name = /^tool (\S+)$/m.exec(mod)?.[1] ?? '';
  const required = [...mod.matchAll(/^\s*(?:require )?(\S+) v(\S+)/gm)];
  const version = required.find(([, module]) => name.startsWith(`${module ?? ''}/`))?.[2];
  if (version === undefined) throw new Error(`${dir}/go.mod does not require a version of "${name}"`);
  return { binary, dir, package: name, version, flags };
}
