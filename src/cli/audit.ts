import { randomUUID } from 'node:crypto';
import { userInfo } from 'node:os';
import type { Command } from 'commander';
import type { Environment } from '../config';
import { isDatabaseUnavailable } from '../db/database-errors';
import { addActionDetails, finishAction, insertAction } from '../db/operator-actions';
import type { Db } from '../db/pool';
import { reasonOf } from './cli-error';

/** Commands that change nothing, by the last words of their names. All others are recorded. */
const READ_ONLY = /^(status|audit|.+ (show|list|find|export|timeline|new-key))$/;

/** The record of one command in the audit log. */
export function createAudit(env: Environment, db: () => Db) {
  let refusal: Error | undefined;
  return {
    /** Also the request id of what the command causes; undefined if it changes nothing. */
    actionId: undefined as string | undefined,
    /** @throws if Postgres has refused the record: then the command changes nothing */
    assertRecorded(): void {
      if (refusal !== undefined) throw refusal;
    },
    async begin(command: Command): Promise<void> {
      if (isReadOnly(command)) return;
      const id = randomUUID();
      const operator = operatorName(command, env);
      const argument = { arguments: command.args, options: withoutNames(command.opts()) };
      try {
        await insertAction(db(), { id, operator, command: nameOf(command), arguments: argument });
        this.actionId = id;
      } catch (error) {
        if (!isDatabaseUnavailable(error)) throw error;
        // Wrong usage is reported first.
        refusal = error as Error;
      }
    },
    /** Adds what the command did to its record. */
    async addDetails(details: Record<string, unknown>): Promise<void> {
      if (this.actionId !== undefined) await addActionDetails(db(), this.actionId, details);
    },
    async end(error?: unknown): Promise<void> {
      if (this.actionId === undefined) return;
      // The command has done its work: an outcome that cannot be recorded stays `started`.
      await finishAction(db(), this.actionId, error === undefined ? null : reasonOf(error)).catch(() => undefined);
    },
  };
}

/** Options that name a person. The record is kept for ever, so it does not have their values. */
const NAMES = new Set(['email', 'company', 'contactEmail']);

const withoutNames = (options: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(options).map(([name, value]) => [name, NAMES.has(name) ? '…' : value]));

/** True if the command changes nothing, with the options that were passed. */
function isReadOnly(command: Command): boolean {
  const name = nameOf(command);
  const { repair } = command.opts<{ repair?: true }>();
  return READ_ONLY.test(name) || (name === 'reconcile' && repair !== true);
}

/** The name with those of its parents, without the program's. */
function nameOf(command: Command): string {
  const parent = command.parent?.parent ? `${nameOf(command.parent)} ` : '';
  return parent + command.name();
}

function operatorName(command: Command, env: Environment): string {
  const { operator } = command.optsWithGlobals<{ operator?: string }>();
  return operator ?? (env.ORDER_SERVICE_OPERATOR || systemUser());
}

function systemUser(): string {
  try {
    return userInfo().username;
  } catch {
    // A container's user may have no name.
    return `uid ${process.getuid?.()}`;
  }
}
