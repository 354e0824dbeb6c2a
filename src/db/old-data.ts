import type { DbClient } from './pool';

/** One kind of old data, as parts of SQL. `$1` is the age in days at which it goes. */
export interface OldData {
  /** In metrics. */
  name: string;
  days: number;
  /** The rows that go: `from` with an alias, the id and other columns that `change` needs, and a time with an index. */
  from: string;
  columns: string;
  time: string;
  where: string;
  /** Statements that delete what the rows in `due` hold, each with a name. */
  change: string;
}

/** A time in Postgres' own format, from which on rows are searched: those before it are deleted, or must stay for now. */
export const FROM_THE_START = '-infinity';

/** SQL: the age in `OldData`. */
export const AGE = `$1 * interval '1 day'`;

const dueOf = ({ from, columns, time, where }: OldData): string =>
  `select ${columns} from ${from} where ${time} >= $3 and ${time} < now() - ${AGE} and ${where} order by ${time} limit $2`;

/**
 * Deletes at most `limit` rows of a kind, the oldest first. Several processes can do so at once.
 * @returns how many, and where the next call continues: it need not read again past what is deleted but not vacuumed yet
 */
export async function deleteOldData(
  db: DbClient,
  kind: OldData,
  limit: number,
  from = FROM_THE_START,
): Promise<{ deleted: number; next: string }> {
  const alias = kind.time.split('.')[0];
  const columns = `${kind.columns}, ${kind.time} as at`;
  const { rows } = await db.query<{ deleted: number; next: string | null }>(
    `with due as (${dueOf({ ...kind, columns })} for update of ${alias} skip locked), ${kind.change}
     select count(*)::integer as deleted, max(at)::text as next from due`,
    [kind.days, limit, from],
  );
  return { deleted: rows[0]?.deleted ?? 0, next: rows[0]?.next ?? from };
}

/** How long the oldest row of a kind has been waiting for its deletion, in seconds; 0 if none waits. */
export async function overdueSeconds(db: DbClient, kind: OldData, from = FROM_THE_START): Promise<number> {
  const { rows } = await db.query<{ seconds: number }>(
    `select coalesce(extract(epoch from now() - ${AGE} - min(at)), 0)::float8 as seconds
     from (${dueOf({ ...kind, columns: `${kind.time} as at` })}) due`,
    [kind.days, 1, from],
  );
  return rows[0]?.seconds ?? 0;
}

/** Other statements at the same moment that a database which keeps up does not have. */
const BUSY_STATEMENTS = 8;

/** True while Postgres works on many statements of the service. */
export async function isBusy(db: DbClient): Promise<boolean> {
  const { rows } = await db.query<{ busy: boolean }>(
    `select count(*) > ${BUSY_STATEMENTS} as busy from pg_stat_activity
     where state = 'active' and pid <> pg_backend_pid() and datname = current_database() and usename = current_user`,
  );
  return rows[0]?.busy === true;
}
