import type { Db } from '../../../src/db/pool';

/** How Postgres would run the statement that `ask` makes; it is explained in place of being run. */
export async function queryPlan(db: Db, ask: (explaining: Db) => Promise<unknown>): Promise<string> {
  let plan = '';
  const explaining = {
    async query(sql: string, values: unknown[]) {
      const { rows } = await db.query<{ 'QUERY PLAN': string }>(`explain ${sql}`, values);
      plan = rows.map((row) => row['QUERY PLAN']).join('\n');
      return { rows: [], rowCount: 0 };
    },
  } as unknown as Db;
  await ask(explaining);
  return plan;
}
