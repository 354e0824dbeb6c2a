import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';

/** One program that Go can build for machines without a `temporal` CLI. */
export type Tool = {
  binary: 'temporal-server' | 'temporal-ui';
  /** The Go module that pins it; its go.mod alone says which package and which version. */
  dir: string;
  package: string;
  version: string;
  flags: string[];
};

export function temporalTools(): { server: Tool; ui: Tool } {
  const root = join(projectRoot(), 'tools', 'temporal');
  return {
    // The tag leaves out the cloud-storage client's xDS: a minute less to build.
    server: tool('temporal-server', join(root, 'server'), ['-tags', 'disable_grpc_modules']),
    ui: tool('temporal-ui', join(root, 'ui'), []),
  };
}

/** Where a version of a program is kept, for every clone of this user. */
export function cached(binary: string, version: string, env: NodeJS.ProcessEnv): string {
  const cache = env['XDG_CACHE_HOME'] ?? join(env['HOME'] ?? homedir(), '.cache');
  return join(cache, 'order-service', 'temporal', `${version}-${process.platform}-${process.arch}`, binary);
}

function tool(binary: Tool['binary'], dir: string, flags: string[]): Tool {
  const mod = readFileSync(join(dir, 'go.mod'), 'utf8');
  const name = /^tool (\S+)$/m.exec(mod)?.[1] ?? '';
  const required = [...mod.matchAll(/^\s*(?:require )?(\S+) v(\S+)/gm)];
  const version = required.find(([, module]) => name.startsWith(`${module ?? ''}/`))?.[2];
  if (version === undefined) throw new Error(`${dir}/go.mod does not say which version of "${name}" it needs`);
  return { binary, dir, package: name, version, flags };
}

/** The folder of package.json: two levels up from the source, three from the compiled file. */
function projectRoot(): string {
  let dir = __dirname;
  while (!existsSync(join(dir, 'package.json'))) {
    if (dirname(dir) === dir) throw new Error(`no package.json above ${__dirname}`);
    dir = dirname(dir);
  }
  return dir;
}
