import { type Db, type DbClient, inTransaction } from './pool';

/** A command of the CLI that changes something. */
interface OperatorAction {
  /** Also the request id of what the command causes. */
  id: string;
  operator: string;
  /** For example `order cancel`. */
  command: string;
  arguments: unknown;
}

interface RecordedAction extends OperatorAction {
  /** When it began. */
  at: Date;
  outcome: 'started' | 'succeeded' | 'failed';
  error: string | null;
}

export async function insertAction(db: DbClient, action: OperatorAction): Promise<void> {
  await db.query('insert into operator_action (id, operator, command, arguments) values ($1, $2, $3, $4)', [
    action.id,
    action.operator,
    action.command,
    JSON.stringify(action.arguments),
  ]);
}

/** Adds fields to the arguments of an action. */
export async function addActionDetails(db: DbClient, id: string, details: object): Promise<void> {
  await db.query('update operator_action set arguments = arguments || $2 where id = $1', [id, JSON.stringify(details)]);
}

/**
 * Records the outcome. An action that is in the log as started is logged again.
 * @param error null if the command succeeded
 */
export async function finishAction(db: DbClient, id: string, error: string | null): Promise<void> {
  await db.query(
    `update operator_action set outcome = case when $2::text is null then 'succeeded' else 'failed' end, error = $2,
       logged_at = null
     where id = $1`,
    [id, error],
  );
}

const COLUMNS = 'id, at, operator, command, arguments, outcome, error';

/**
 * Lists actions, newest first.
 * @param filter `about`: a text in the arguments
 */
export async function listActions(
  db: DbClient,
  { operator, about, since }: { operator?: string | undefined; about?: string | undefined; since?: Date | undefined },
  limit: number,
): Promise<RecordedAction[]> {
  const { rows } = await db.query<RecordedAction>(
    `select ${COLUMNS} from operator_action
     where ($1::text is null or operator = $1) and ($2::timestamptz is null or at >= $2)
       and ($4::text is null or strpos(arguments::text, $4) > 0)
     order by at desc, id desc limit $3`,
    [operator, since, limit, about],
  );
  return rows;
}

/**
 * Has finished actions logged, each at least once. One that is not finished within a minute is logged before its end
 * too: it may have been interrupted.
 * @param limit the maximum number of actions
 * @param write resolves once they are in the log
 */
export async function logActions(
  db: Db,
  limit: number,
  write: (actions: RecordedAction[]) => Promise<void>,
): Promise<void> {
  await inTransaction(db, async (client) => {
    const { rows } = await client.query<RecordedAction>(
      `select ${COLUMNS} from operator_action
       where logged_at is null and (outcome <> 'started' or at < now() - interval '1 minute')
       order by at limit $1 for update skip locked`,
      [limit],
    );
    if (rows.length === 0) return;
    await write(rows);
    await client.query('update operator_action set logged_at = now() where id = any($1)', [rows.map(({ id }) => id)]);
  });
}
