import pg from 'pg';

interface Statement {
  text: string;
  values: unknown[];
}

/**
 * Calls a function before each statement of this process. If it throws, the statement fails. Until
 * `jest.restoreAllMocks()`.
 */
export function onStatement(before: (statement: Statement) => void): void {
  // eslint-disable-next-line @typescript-eslint/unbound-method -- it is applied to `this`
  const query = pg.Client.prototype.query as (...args: unknown[]) => unknown;
  jest.spyOn(pg.Client.prototype, 'query').mockImplementation(function (this: pg.Client, ...args: unknown[]) {
    const [statement, values] = args as [string | { text: string; values?: unknown[] }, unknown];
    const { text, values: own } = typeof statement === 'string' ? { text: statement, values: undefined } : statement;
    before({ text, values: own ?? (Array.isArray(values) ? values : []) });
    return query.apply(this, args) as never;
  });
}
