import type { Db } from '../../src/db/pool';

/** Returns Postgres's plan for the statement that `run` makes. Only `explain analyze` executes the statement. */
export async function queryPlan(
  db: Db,
  run: (explainingDb: Db) => Promise<unknown>,
  explain: 'explain' | 'explain analyze' = 'explain',
): Promise<string> {
  let plan = '';
  const explainingDb = {
    async query(query: string | { text: string; values: unknown[] }, values: unknown[]) {
      const [sql, given] = typeof query === 'string' ? [query, values] : [query.text, query.values];
      const { rows } = await db.query<{ 'QUERY PLAN': string }>(`${explain} ${sql}`, given);
      plan = rows.map((row) => row['QUERY PLAN']).join('\n');
      return { rows: [], rowCount: 0 };
    },
  } as unknown as Db;
  await run(explainingDb);
  return plan;
}
