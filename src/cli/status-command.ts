import type { Command } from 'commander';
import { CHECKOUT_TASK_QUEUE } from '../checkout/checkout-workflows';
import { loadHostedCheckoutConfig } from '../config';
import { VERSION } from '../package';
import { lendersOf } from '../providers';
import { TASK_QUEUES } from '../temporal/server';
import { print, wantsJson } from './output';
import type { Services } from './services';
import { checkApi, checkBreakers, checkPostgres, checkTemporal, readWork } from './status-checks';

export function addStatusCommand(program: Command, services: Services): void {
  const { db, temporal, env } = services;
  program
    .command('status')
    .description('check every part and the work that waits; exit with 1 if something needs a person')
    .action(async (_options: unknown, command: Command) => {
      const lenders = lendersOf(loadHostedCheckoutConfig(env));
      const queues = lenders.sandbox ? [...TASK_QUEUES, CHECKOUT_TASK_QUEUE] : TASK_QUEUES;
      const [postgres, inTemporal, api, breakers, work] = await Promise.all([
        checkPostgres(db),
        checkTemporal(temporal, queues),
        checkApi(env.ORDERS_URL),
        checkBreakers(env.METRICS_URL),
        readWork(db, lenders),
      ]);
      const checks = [...postgres, ...inTemporal, api, breakers, ...work.checks];
      const needsPerson = checks.some(({ state }) => state === 'failed' || state === 'attention');
      services.foundTrouble = needsPerson;
      const status = needsPerson ? 'needs a person' : 'ok';
      if (wantsJson(command)) await print(command, { status, version: VERSION, checks, ...work.numbers });
      else await print(command, [...checks, { part: 'version', state: status, detail: VERSION }]);
    });
}
