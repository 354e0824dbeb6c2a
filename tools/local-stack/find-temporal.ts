import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { buildTool } from './build-temporal';
import { downloadCli } from './download-cli';
import { isExecutable, which } from './executable';
import { cachePath, temporalTools, type Tool } from './temporal-tools';

/** The programs of a Temporal server: the CLI, or the stock server with an optional UI. */
export type TemporalPrograms = { cli: string } | { server: string; ui: string | undefined };

export interface FindOptions {
  log: (line: string) => void;
  /** Whether to find the Web UI too. Default: true. */
  ui?: boolean;
  env?: NodeJS.ProcessEnv;
  download?: (target: string) => Promise<void>;
  build?: typeof buildTool;
}

/** The first server version that has the search attribute `TemporalReportedProblems`. */
const OLDEST_SERVER = [1, 30] as const;

/**
 * Finds a Temporal server: a `temporal` CLI on PATH, a program in the user's cache, the SDK's download of the CLI, or a
 * build with Go. Logs a line for each source it skips.
 * @throws an error that names what to install, if all of them fail
 */
export async function findTemporal(options: FindOptions): Promise<TemporalPrograms> {
  const { ui = true, env = process.env, download = downloadCli, build = buildTool } = options;
  const log = (line: string) => options.log(`Temporal: ${line}`);
  const tools = temporalTools();
  const fromCacheOrGo = async (tool: Tool): Promise<string> => {
    const target = cachePath(tool.binary, tool.version, env);
    if (!isExecutable(target)) await build(tool, target, log, env);
    return target;
  };
  const withUi = async (server: string): Promise<TemporalPrograms> => {
    try {
      return { server, ui: ui ? await fromCacheOrGo(tools.ui) : undefined };
    } catch (error) {
      log(`no Web UI: ${(error as Error).message}`);
      return { server, ui: undefined };
    }
  };

  const onPath = which('temporal', env);
  const problem = onPath === undefined ? 'no temporal CLI on PATH' : problemWith(onPath, env);
  if (onPath !== undefined && problem === undefined) return { cli: onPath };

  const server = cachePath(tools.server.binary, tools.server.version, env);
  const downloaded = cachePath('temporal', `cli-of-sdk-${sdkVersion()}`, env);
  const cached = [server, downloaded].find(isExecutable);
  log(`${problem ?? ''}; ${cached === undefined ? `no server at ${server}` : `using ${cached}`}`);
  if (cached !== undefined) return cached === server ? withUi(server) : { cli: downloaded };

  try {
    await download(downloaded);
    return { cli: downloaded };
  } catch (error) {
    log(`the SDK could not download the CLI: ${(error as Error).message}`);
  }

  try {
    return await withUi(await fromCacheOrGo(tools.server));
  } catch (error) {
    log(`the server could not be built: ${(error as Error).message}`);
  }
  throw new Error(
    'no Temporal server: install the Temporal CLI (https://docs.temporal.io/cli) or Go 1.26 or later (https://go.dev/dl), ' +
      'or set TEMPORAL_ADDRESS to a running server',
  );
}

/** Downloads or builds the server if necessary, so that a later start is fast. */
export async function prepareTemporal(log: (line: string) => void, ui = true): Promise<void> {
  await findTemporal({ log, ui });
}

/** The reason why a CLI cannot be used; undefined if it can. */
function problemWith(cli: string, env: NodeJS.ProcessEnv): string | undefined {
  try {
    const output = execFileSync(cli, ['--version'], { env, encoding: 'utf8', timeout: 10_000, stdio: 'pipe' });
    const [, major, minor] = /Server (\d+)\.(\d+)/.exec(output) ?? [];
    if (major === undefined || minor === undefined) return undefined;
    const age = Number(major) - OLDEST_SERVER[0] || Number(minor) - OLDEST_SERVER[1];
    return age < 0 ? `${cli} has server ${major}.${minor}; ${OLDEST_SERVER.join('.')} or later is required` : undefined;
  } catch (error) {
    return `${cli} does not run: ${(error as Error).message.split('\n')[0] ?? ''}`;
  }
}

function sdkVersion(): string {
  return (JSON.parse(readFileSync(require.resolve('@temporalio/client/package.json'), 'utf8')) as { version: string })
    .version;
}
