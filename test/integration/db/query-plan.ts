import type { Db } from '../../../src/db/pool';

/** Returns Postgres's plan for the statement that `run` makes. The statement is explained, not executed. */
export async function queryPlan(db: Db, run: (explainingDb: Db) => Promise<unknown>): Promise<string> {
  let plan = '';
  const explainingDb = {
    async query(sql: string, values: unknown[]) {
      const { rows } = await db.query<{ 'QUERY PLAN': string }>(`explain ${sql}`, values);
      plan = rows.map((row) => row['QUERY PLAN']).join('\n');
      return { rows: [], rowCount: 0 };
    },
  } as unknown as Db;
  await run(explainingDb);
  return plan;
}
