import { readFileSync } from 'node:fs';
import { cpus, totalmem, type as osType } from 'node:os';
import path from 'node:path';
import { PACKAGE_ROOT } from '../../src/package';
import type { Servers } from './servers';
import { createTemporalClient } from '../../src/temporal/connection';

const GIB = 2 ** 30;

/** What the numbers depend on; no names and no paths. */
export async function describeMachine({ admin, temporalAddress }: Servers): Promise<Record<string, string>> {
  const client = createTemporalClient({ connectionOptions: { address: temporalAddress } });
  const { serverVersion } = await client.workflowService.getSystemInfo({});
  await client.connection.close();
  const { rows } = await admin.query<{ server_version: string }>('show server_version');
  const [cpu] = cpus();
  return {
    Processor: `${cpus().length} cores, ${cpu?.model.trim() ?? 'unknown'}`,
    Memory: `${Math.round(totalmem() / GIB)} GiB`,
    System: `${osType()}, Node ${process.version.slice(1)}`,
    Postgres: `${rows[0]!.server_version}, default settings, every commit flushed to disk`,
    'Temporal server': `${serverVersion}, one process, SQLite, every commit flushed to disk`,
    'Temporal SDK': versionOf('node_modules/@temporalio/worker'),
  };
}

function versionOf(folder: string): string {
  const { version } = JSON.parse(readFileSync(path.join(PACKAGE_ROOT, folder, 'package.json'), 'utf8')) as {
    version: string;
  };
  return version;
}
