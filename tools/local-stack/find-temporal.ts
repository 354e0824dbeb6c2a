import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { buildTool } from './build-temporal';
import { downloadCli } from './download-cli';
import { isExecutable, which } from './executable';
import { cached, temporalTools, type Tool } from './temporal-tools';

/** What a Temporal server can be started from: the CLI, or the stock server with its UI, which it may lack. */
export type TemporalPrograms = { cli: string } | { server: string; ui: string | undefined };

export type FindOptions = {
  log: (line: string) => void;
  /** Whether the Web UI is wanted too; true by default. */
  ui?: boolean;
  env?: NodeJS.ProcessEnv;
  download?: (target: string) => Promise<void>;
  build?: typeof buildTool;
};

/** The first server with update-with-start switched on, without which a closed order can't be messaged. */
const OLDEST_SERVER = [1, 28] as const;

/**
 * Finds or makes a Temporal server: a `temporal` CLI on PATH; one in the user's cache; the SDK's download of the CLI;
 * a build with Go. Says in a line why each of these was passed over; throws what to install if there is none.
 */
export async function findTemporal(options: FindOptions): Promise<TemporalPrograms> {
  const { ui = true, env = process.env, download = downloadCli, build = buildTool } = options;
  const log = (line: string) => options.log(`Temporal: ${line}`);
  const tools = temporalTools();
  const fromCacheOrGo = async (tool: Tool): Promise<string> => {
    const target = cached(tool.binary, tool.version, env);
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
  const flaw = onPath === undefined ? 'no temporal CLI on PATH' : flawOf(onPath, env);
  if (onPath !== undefined && flaw === undefined) return { cli: onPath };
  log(flaw ?? '');

  const server = cached(tools.server.binary, tools.server.version, env);
  if (isExecutable(server)) return withUi(server);
  const downloaded = cached('temporal', `cli-of-sdk-${sdkVersion()}`, env);
  if (isExecutable(downloaded)) return { cli: downloaded };
  log(`no server at ${server}`);

  try {
    await download(downloaded);
    return { cli: downloaded };
  } catch (error) {
    log(`the SDK could not download the CLI: ${(error as Error).message}`);
  }

  try {
    return await withUi(await fromCacheOrGo(tools.server));
  } catch (error) {
    log(`no build of the server: ${(error as Error).message}`);
  }
  throw new Error(
    'no Temporal server: install the Temporal CLI (https://docs.temporal.io/cli) or Go 1.26 or later (https://go.dev/dl), ' +
      'or set TEMPORAL_ADDRESS to a server that runs',
  );
}

/** Makes sure that a server can be started without delay later on, in CI or before a test suite. */
export async function prepareTemporal(log: (line: string) => void, ui = true): Promise<void> {
  await findTemporal({ log, ui });
}

/** Why a CLI is of no use; undefined if it is. */
function flawOf(cli: string, env: NodeJS.ProcessEnv): string | undefined {
  try {
    const said = execFileSync(cli, ['--version'], { env, encoding: 'utf8', timeout: 10_000, stdio: 'pipe' });
    const [, major, minor] = /Server (\d+)\.(\d+)/.exec(said) ?? [];
    if (major === undefined || minor === undefined) return undefined;
    const age = Number(major) - OLDEST_SERVER[0] || Number(minor) - OLDEST_SERVER[1];
    return age < 0 ? `${cli} brings server ${major}.${minor}, and ${OLDEST_SERVER.join('.')} is needed` : undefined;
  } catch (error) {
    return `${cli} does not run: ${(error as Error).message.split('\n')[0] ?? ''}`;
  }
}

function sdkVersion(): string {
  return (JSON.parse(readFileSync(require.resolve('@temporalio/client/package.json'), 'utf8')) as { version: string })
    .version;
}
