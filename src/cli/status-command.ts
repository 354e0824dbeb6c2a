import type { Command } from 'commander';
import { VERSION } from '../package';
import { print, wantsJson } from './output';
import type { Services } from './services';
import { checkApi, checkBreakers, checkPostgres, checkTemporal, readWork } from './status-checks';

export function addStatusCommand(program: Command, services: Services): void {
  const { db, temporal, env } = services;
  program
    .command('status')
    .description('check every part and the work that waits; exit with 1 if something needs a person')
    .action(async (_options: unknown, command: Command) => {
      const [postgres, inTemporal, api, breakers, work] = await Promise.all([
        checkPostgres(db),
        checkTemporal(temporal),
        checkApi(env.ORDERS_URL),
        checkBreakers(env.METRICS_URL),
        readWork(db),
      ]);
      const checks = [...postgres, ...inTemporal, api, breakers, ...work.checks];
      const needsPerson = checks.some(({ state }) => state === 'failed' || state === 'attention');
      services.foundTrouble = needsPerson;
      const status = needsPerson ? 'needs a person' : 'ok';
      if (wantsJson(command)) await print(command, { status, version: VERSION, checks, ...work.numbers });
      else await print(command, [...checks, { part: 'version', state: status, detail: VERSION }]);
    });
}
